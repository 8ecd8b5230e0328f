// A Service of another owner that has the name of the JobSet's headless Service.
#include "life.hpp"

namespace controller {
namespace {

using kube::resources::services;
using kube::resources::volume_claims;

struct Serving : Life {
    int reads = 0;  // of Services

    Serving() {
        server.watch_requests = [this](const kube::Request& request) -> std::optional<api::Error> {
            if (request.method == "GET" && kube::resource_of(request.target) == "services") ++reads;
            return std::nullopt;
        };
    }
    ReconcileResult after(std::chrono::seconds later) {
        server.now += later;
        ReconcileResult report = reconcile();
        retry_state = report.retry_state;
        return report;
    }
    void begin() {
        after(0s);
        count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
        after(1s);
    }
    void put_service(Json selector, Json owners = Json::array()) {
        Json service;
        service["metadata"] = Json::object({{"name", "job"}, {"namespace", "ns"}});
        service["metadata"]["ownerReferences"] = std::move(owners);
        service["spec"]["selector"] = std::move(selector);
        server.put(services, service);
    }
    // As JobSet does.
    void serve() {
        const Json& uid = job_set()["metadata"]["uid"];
        put_service(Json::object({{"jobset.sigs.k8s.io/jobset-name", "job"}}),
                    Json::array({Json::object({{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                               {"kind", "JobSet"},
                                               {"name", "job"},
                                               {"uid", uid},
                                               {"controller", true}})}));
    }
};

const Json of_an_app = Json::object({{"app", "inference"}});

}  // namespace

TEST_CASE("a job that has its Service costs one read of it") {
    Serving life;
    life.begin();
    life.serve();
    life.server.take_writes();
    life.after(28s);
    CHECK(life.reads == 0);
    life.after(1s);
    CHECK(life.reads == 1);
    life.after(1h);
    CHECK(life.reads == 1);
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a job with the name of a Service of others says that its host names do not resolve") {
    Serving life;
    life.put_service(of_an_app);
    life.begin();
    life.after(30s);
    CHECK(life.condition("Stalled") == "True/ServiceTaken");
    CHECK_THAT(life.message("Stalled"), Catch::StartsWith("Service ns/job exists already"));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("once the Service of others is gone, the JobSet is touched so that JobSet looks again") {
    Serving life;
    life.put_service(of_an_app);
    life.begin();
    life.after(30s);
    life.server.erase(services, key);
    life.server.take_writes();
    life.after(15s);
    CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path, "PATCH " + status_path});
    CHECK(life.job_set()["metadata"]["annotations"]["trainer.kubeflow.org/service-missing"].is_string());
    CHECK(life.condition("Stalled") == "True/ServiceTaken");
    life.serve();
    life.after(15s);
    CHECK(life.condition("Stalled").empty());
    life.server.take_writes();
    life.after(1h);
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a JobSet that has Jobs without its Service is touched once, whatever was in the way") {
    Serving life;
    life.begin();
    life.server.take_writes();
    life.after(30s);
    CHECK(life.reads == 1);
    CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
    CHECK(life.condition("Stalled").empty());
    life.after(1h);
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a touch that fails is tried again") {
    Serving life;
    life.begin();
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.starts_with(job_set_path)) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "timeout"};
    };
    life.after(30s);
    CHECK(life.job_set()["metadata"]["annotations"]["trainer.kubeflow.org/service-missing"].is_null());
    life.server.refuse = {};
    life.after(15s);
    CHECK(life.job_set()["metadata"]["annotations"]["trainer.kubeflow.org/service-missing"].is_string());
}

TEST_CASE("a JobSet that JobSet has not looked at yet is not touched for its Service") {
    Serving life;
    life.after(0s);
    life.server.take_writes();
    life.after(30s);
    const Writes writes = life.server.take_writes();
    CHECK(std::find(writes.begin(), writes.end(), "PATCH " + job_set_path) == writes.end());
}

TEST_CASE("a Service of others that selects the Pods stalls nothing") {
    Serving life;
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["replicatedJobs"]
            .items()[0]["template"]["spec"]["template"]["metadata"]["labels"]["team"] = "ml";
    });
    life.put_service(Json::object({{"team", "ml"}}));
    life.begin();
    life.after(30s);
    CHECK(life.condition("Stalled").empty());
}

TEST_CASE("a reconciler that may not read Services goes on") {
    Serving life;
    life.put_service(of_an_app);
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "services") return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "cannot get services", .http_status = 403};
    };
    life.begin();
    CHECK_FALSE(life.after(30s).error);
    CHECK(life.condition("Stalled").empty());
}

TEST_CASE("all claims that are being deleted, and a Service in the way, are named at once") {
    Serving life;
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] =
            api::parse_json(
                R"([{"templates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]}])")
                .value();
    });
    for (const char* name : {"data-job", "logs-job"}) {
        Json claim;
        claim["metadata"] = Json::object({{"name", name}, {"namespace", "ns"}});
        claim["metadata"]["finalizers"] = Json::array({"example.com/held"});
        life.server.put(volume_claims, claim);
        life.server.ask_to_delete(volume_claims, {"ns", name});
    }
    life.put_service(of_an_app);
    life.after(0s);
    CHECK_FALSE(life.server.find(job_sets, key));
    life.after(300s);
    CHECK(life.condition("Stalled") == "True/WaitingForDeletion");
    CHECK(life.message("Stalled") ==
          "PersistentVolumeClaim ns/data-job, PersistentVolumeClaim ns/logs-job are being deleted; the "
          "job goes on once they are gone. Besides: Service ns/job exists already, so host names of Pods do "
          "not "
          "resolve: delete it, or name the TrainJob otherwise");
}

}  // namespace controller
