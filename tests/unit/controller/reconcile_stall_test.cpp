// What a JobSet that does not start makes the reconciler read, and say.
#include <limits>

#include "life.hpp"

namespace controller {
namespace {

struct Stalling : Life {
    lifecycle::RetryState retry_state = {};
    std::vector<std::string> reads = {};  // of events and of the JobSet
    int all_lists = 0;                    // of events, of all reconciles

    explicit Stalling(void (*prepare)(Json& runtime) = [](Json&) {}) {
        server.edit(cluster_training_runtimes, torch, prepare);
        server.watch_requests = [this](const kube::Request& request) -> std::optional<api::Error> {
            const std::string resource = kube::resource_of(request.target);
            if (request.method == "GET" && (resource == "events" || resource == "jobsets.jobset.x-k8s.io"))
                reads.push_back(resource);
            if (request.method == "GET" && resource == "events") ++all_lists;
            return std::nullopt;
        };
        look(0s);
        look(1s);
    }
    ReconcileResult look(std::chrono::seconds later,
                         std::size_t allowed = std::numeric_limits<std::size_t>::max()) {
        server.now += later;
        reads.clear();
        server.show(cache);
        ReconcileResult report;
        const auto run = [&]() -> kube::Task<> {
            report = co_await reconciler.reconcile(key, retry_state, allowed);
        };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        retry_state = report.retry_state;
        return report;
    }
    void tell(const std::string& name, Json about, const std::string& message, const char* type = "Warning",
              const char* reason = "FailedCreate") {
        Json event;
        event["metadata"] = Json::object({{"name", name}, {"namespace", "ns"}});
        event["involvedObject"] = std::move(about);
        event["type"] = type;
        event["reason"] = reason;
        event["message"] = message;
        event["lastTimestamp"] = api::format_time(server.now);
        server.put(kube::resources::events, event);
    }
    Json this_job_set() const {
        return Json::object({{"kind", "JobSet"}, {"name", "job"}, {"uid", job_set()["metadata"]["uid"]}});
    }
    void set_counts(Json counts) {
        server.edit(job_sets, key, [&](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] = Json::array({std::move(counts)});
        });
    }
};

using Reads = std::vector<std::string>;

}  // namespace

TEST_CASE("the newest warning about a JobSet without Jobs is the text of Stalled") {
    Stalling life;
    life.tell("a", life.this_job_set(), "an older one");
    CHECK(life.look(9s).requeue_after);
    life.tell("b", life.this_job_set(), "jobs.batch \"job-node-0\" is forbidden: exceeded quota");
    life.tell("c", Json::object({{"kind", "JobSet"}, {"name", "job"}, {"uid", "another"}}),
              "of another JobSet");
    CHECK(life.reads.empty());
    life.tell("d", life.this_job_set(), "no warning", "Normal");
    life.look(30s);
    CHECK(life.reads == Reads{"events", "jobsets.jobset.x-k8s.io"});
    CHECK(life.condition("Stalled") == "True/JobsNotCreated");
    CHECK(life.message("Stalled") == "jobs.batch \"job-node-0\" is forbidden: exceeded quota");
    life.look(30s);
    CHECK(life.reads.empty());
    life.tell("b", life.this_job_set(), "exceeded another quota");
    life.look(30s);
    CHECK(life.reads == Reads{"events"});
    CHECK(life.message("Stalled") == "exceeded another quota");
}

TEST_CASE("where no event is about the JobSet the one about its Job is the text") {
    Stalling life;
    life.set_counts(Json::object({{"name", "node"}}));
    life.look(1s);
    life.tell("a", Json::object({{"kind", "Job"}, {"name", "job-node-0"}}),
              "pods are forbidden: exceeded quota");
    life.look(30s);
    CHECK(life.reads == Reads{"events", "jobsets.jobset.x-k8s.io"});
    CHECK(life.message("Stalled") == "job node: pods are forbidden: exceeded quota");
}

TEST_CASE("a restart of the JobSet is no reason why Pods are missing") {
    Stalling life;
    life.set_counts(Json::object({{"name", "node"}}));
    life.tell("a", life.this_job_set(), "applying RestartJobSet failure policy action", "Warning",
              "RestartJobSetFailurePolicyAction");
    life.tell("a2", life.this_job_set(), "jobset failed due to one or more job failures", "Warning",
              "DefaultFailurePolicy");
    life.look(1s);
    life.look(30s);
    CHECK(life.condition("Stalled").empty());
    life.tell("b", Json::object({{"kind", "Job"}, {"name", "job-node-0"}}),
              "pods are forbidden: exceeded quota");
    life.look(60s);
    CHECK(life.message("Stalled") == "job node: pods are forbidden: exceeded quota");
}

TEST_CASE("Pods may be missing of any Job of a replicated job") {
    Stalling life([](Json& runtime) {
        Json& node = runtime["spec"]["template"]["spec"]["replicatedJobs"].items()[0];
        node["replicas"] = 12;
        node["template"].erase("metadata");
    });
    life.set_counts(Json::object({{"name", "node"}, {"active", 11}}));
    life.look(1s);
    life.tell("a", Json::object({{"kind", "Job"}, {"name", "job-node-x-0"}}), "of another JobSet");
    life.tell("b", Json::object({{"kind", "Job"}, {"name", "job-node-11"}}), "a program that fails",
              "Warning", "BackoffLimitExceeded");
    life.look(30s);
    CHECK(life.condition("Stalled").empty());
    life.tell("c", Json::object({{"kind", "Job"}, {"name", "job-node-11"}}), "exceeded quota");
    life.look(60s);
    CHECK(life.message("Stalled") == "job node: exceeded quota");
}

TEST_CASE("events that cannot be read fail and delay nothing") {
    Stalling life;
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "events") return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "cannot list events", .http_status = 403};
    };
    const ReconcileResult report = life.look(30s);
    CHECK_FALSE(report.error);
    CHECK(life.condition("Stalled") == "True/JobsNotCreated");
    CHECK(life.message("Stalled") == "JobSet has created no Jobs, and no event was found that says why");
    life.server.refuse_read = {};
    life.tell("a", life.this_job_set(), "exceeded quota");
    life.look(60s);
    CHECK(life.message("Stalled") == "exceeded quota");
}

TEST_CASE("a job whose Pods are only late costs one list, and no read of its own") {
    Stalling life;
    life.set_counts(Json::object({{"name", "node"}}));
    life.look(1s);
    life.look(29s);
    CHECK(life.reads.empty());
    life.look(1s);
    CHECK(life.reads == Reads{"events"});
    CHECK(life.condition("Stalled").empty());
    life.set_counts(Json::object({{"name", "node"}, {"active", 1}}));
    life.look(60s);
    CHECK(life.reads.empty());
}

TEST_CASE("a job that is created or resumed waits for no events") {
    Stalling life;
    life.set_suspend(true);
    life.look(60s);
    life.set_counts(Json::object({{"name", "node"}, {"suspended", 1}}));
    life.look(1s);
    life.look(1h);
    life.set_suspend(false);
    life.look(1s);
    life.look(29s);
    CHECK(life.condition("Suspended") == "False/Resumed");
    CHECK(life.all_lists == 0);
}

TEST_CASE("of a long event Stalled has the beginning") {
    Stalling life;
    life.tell("a", life.this_job_set(), std::string(200'000, 'x'));
    life.look(30s);
    CHECK(life.message("Stalled") == std::string(32'768, 'x'));
}

TEST_CASE("the events of other JobSets do not count as what a reconcile reads") {
    Stalling life;
    for (int i = 0; i < 100; ++i)
        life.tell("a" + std::to_string(i),
                  Json::object({{"kind", "JobSet"}, {"name", "noisy"}, {"uid", "another"}}),
                  std::string(1000, 'x'));
    life.tell("b", life.this_job_set(), "exceeded quota");
    CHECK_FALSE(life.look(30s, 32 * 1024).wants_more);
    CHECK(life.message("Stalled") == "exceeded quota");
}

TEST_CASE("a cache that lags behind stalls no TrainJob") {
    Stalling life;
    life.look(1s);
    // What the caches do not show.
    Json counts = Json::object({{"name", "node"}, {"active", 1}, {"ready", 1}});
    life.set_counts(std::move(counts));
    life.server.now += 40s;
    ReconcileResult report;
    const auto run = [&]() -> kube::Task<> {
        report = co_await life.reconciler.reconcile(key, life.retry_state);
    };
    boost::asio::co_spawn(life.context, run(), boost::asio::detached);
    life.context.restart();
    life.context.run();
    CHECK(life.condition("Stalled").empty());
    CHECK_FALSE(report.retry_state.stall);
}

TEST_CASE("events about a job that waits for another one are read after five minutes") {
    Stalling life([](Json& runtime) {
        Json& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"];
        Json node = jobs.items().front();
        Json first = node;
        first["name"] = "data";
        first["template"].erase("metadata");
        node["dependsOn"] = Json::array({Json::object({{"name", "data"}, {"status", "Complete"}})});
        jobs = Json::array({std::move(first), std::move(node)});
    });
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["status"]["replicatedJobsStatus"] =
            Json::array({Json::object({{"name", "data"}, {"active", 1}, {"ready", 1}}),
                         Json::object({{"name", "node"}})});
    });
    life.look(1s);
    CHECK(life.look(60s).requeue_after == 240s);
    CHECK(life.reads.empty());
    // JobSet tries again, and its counts say nothing of claims.
    life.tell("other", life.this_job_set(), "a claim was refused for a moment", "Warning",
              "PVCCreationFailed");
    life.look(240s);
    CHECK(life.reads == Reads{"events"});
    CHECK(life.condition("Stalled").empty());
    life.server.now += 60s;
    life.tell("refused", life.this_job_set(), "jobs.batch \"job-node-0\" is forbidden: exceeded quota",
              "Warning", "JobCreationFailed");
    life.look(240s);
    CHECK(life.condition("Stalled") == "True/JobsNotCreated");
    CHECK(life.message("Stalled") == "jobs.batch \"job-node-0\" is forbidden: exceeded quota");
}

}  // namespace controller
