// What the failed Pods of a JobSet leave in the status of their TrainJob.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

using kube::resources::pods;

struct Failing : Life {
    std::vector<std::string> lists = {};  // of Pods

    Failing() {
        server.watch_requests = [this](const kube::Request& request) -> std::optional<api::Error> {
            if (kube::resource_of(request.target) == "pods") lists.push_back(request.target);
            return std::nullopt;
        };
        reconcile();
    }
    void leave_failed_pod(const std::string& name, std::chrono::seconds ago) {
        Json pod;
        pod["metadata"] = Json::object({{"name", name}, {"namespace", "ns"}});
        pod["metadata"]["labels"] = Json::object({{api::job_set_name_label, "job"},
                                                  {api::job_set_uid_label, job_set()["metadata"]["uid"]},
                                                  {api::replicated_job_label, "node"}});
        pod["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "batch/v1"},
                                                                        {"kind", "Job"},
                                                                        {"name", "job-node-0"},
                                                                        {"uid", "u"},
                                                                        {"controller", true}})});
        pod["spec"]["nodeName"] = "gpu-17";
        Json container = Json::object({{"name", "node"}});
        container["state"]["terminated"] = Json::object(
            {{"exitCode", 137}, {"reason", "OOMKilled"}, {"finishedAt", api::format_time(server.now - ago)}});
        pod["status"] = Json::object({{"phase", "Failed"}, {"containerStatuses", Json::array({container})}});
        server.put(pods, pod);
    }
    void fail_job_set() {
        finish_job_set();
        server.edit(job_sets, key, [](Json& job_set) {
            Json& condition = job_set["status"]["conditions"].items().at(0);
            condition["type"] = "Failed";
            condition["reason"] = "FailedJobs";
            condition["message"] = "jobset failed";
        });
    }
};

}  // namespace

TEST_CASE("a job that has failed says which Pod failed first") {
    Failing life;
    life.leave_failed_pod("job-node-0-0-late", 1s);
    life.leave_failed_pod("job-node-0-1-first", 20s);
    life.fail_job_set();
    life.reconcile();
    CHECK(life.message("Failed") ==
          "jobset failed. The first to fail: Pod job-node-0-1-first on node gpu-17: OOMKilled, exit code "
          "137; one more Pod failed");
    const auto failures = api::parse_failures(life.job()["status"]["failures"]);
    REQUIRE(failures.size() == 1);
    CHECK(failures.front().time == life.server.now - 20s);
    CHECK(life.lists == std::vector<std::string>{
                            "/api/v1/namespaces/ns/pods?labelSelector=jobset.sigs.k8s.io%2Fjobset-name%3Djob"
                            "&fieldSelector=status.phase%3DFailed&limit=200"});
    life.reconcile();
    CHECK(life.lists.size() == 1);
}

TEST_CASE("a job that does not fail costs no look at Pods") {
    Failing life;
    life.count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
    life.reconcile();
    life.finish_job_set();
    life.reconcile();
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    CHECK(life.lists.empty());
}

TEST_CASE("a job fails although its Pods may not be listed") {
    Failing life;
    life.leave_failed_pod("job-node-0-1", 1s);
    life.fail_job_set();
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "pods") return std::nullopt;
        return api::Error{
            .code = api::Errc::forbidden,
            .message =
                "pods is forbidden: User \"reconciler\" cannot list resource \"pods\" in API group \"\"",
            .reason = "Forbidden",
            .http_status = 403};
    };
    life.reconcile();
    CHECK(life.message("Failed") == "jobset failed");
}

TEST_CASE("more failed Pods than fit into a page are looked at page by page") {
    Failing life;
    for (int i = 0; i < 250; ++i) life.leave_failed_pod("pod-" + std::to_string(1000 + i), 1s);
    life.fail_job_set();
    life.reconcile();
    // The modelled server has forgotten the list by then: what the first page says is stored.
    CHECK(life.lists.size() == 2);
    CHECK(life.lists.back().ends_with("&limit=200&continue=the%20rest"));
    CHECK(api::parse_failures(life.job()["status"]["failures"]).front().failed_pods == 200);
}

}  // namespace controller
