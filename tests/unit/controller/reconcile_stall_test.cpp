// What a JobSet that does not start makes the reconciler read, and say.
#include <limits>

#include "life.hpp"

namespace controller {
namespace {

struct Stalling : Life {
    lifecycle::RetryState retry_state = {};
    std::vector<std::string> reads = {};    // of events and of the JobSet
    std::vector<kube::Request> lists = {};  // those of events

    explicit Stalling(void (*prepare)(Json& runtime) = [](Json&) {}) {
        server.edit(cluster_training_runtimes, torch, prepare);
        server.watch_requests = [this](const kube::Request& request) -> std::optional<api::Error> {
            const std::string resource = kube::resource_of(request.target);
            if (request.method == "GET" && (resource == "events" || resource == "jobsets.jobset.x-k8s.io"))
                reads.push_back(resource);
            if (request.method == "GET" && resource == "events") lists.push_back(request);
            return std::nullopt;
        };
        look(0s);
        look(1s);
    }
    ReconcileResult look(std::chrono::seconds later,
                         std::size_t allowed = std::numeric_limits<std::size_t>::max()) {
        server.now += later;
        reads.clear();
        lists.clear();
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
    CHECK(life.reads == Reads{"jobsets.jobset.x-k8s.io", "events"});
    CHECK(life.condition("Stalled") == "True/JobsNotCreated");
    CHECK(life.message("Stalled") == "jobs.batch \"job-node-0\" is forbidden: exceeded quota");
    life.look(30s);
    CHECK(life.reads.empty());
}

TEST_CASE("where no event is about the JobSet the one about its Job is the text") {
    Stalling life;
    life.set_counts(Json::object({{"name", "node"}}));
    life.look(1s);
    life.tell("a", Json::object({{"kind", "Job"}, {"name", "job-node-0"}}),
              "pods are forbidden: exceeded quota");
    life.look(30s);
    CHECK(life.reads == Reads{"jobsets.jobset.x-k8s.io", "events", "events"});
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

TEST_CASE("Stalled says that events cannot be read") {
    Stalling life;
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "events") return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "cannot list events", .http_status = 403};
    };
    life.look(30s);
    CHECK(life.condition("Stalled") == "True/JobsNotCreated");
    CHECK(life.message("Stalled") == "the events about it cannot be read: cannot list events");
}

TEST_CASE("Stalled says that the server knows no events") {
    Stalling life;
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "events") return std::nullopt;
        return api::Error{.code = api::Errc::not_found, .message = "page not found", .http_status = 404};
    };
    life.look(30s);
    CHECK(life.message("Stalled") == "the events about it cannot be read: page not found");
}

TEST_CASE("events are read up to 512 KiB, and of a long one Stalled has the beginning") {
    Stalling life;
    life.tell("a", life.this_job_set(), std::string(200'000, 'x'));
    life.look(30s);
    REQUIRE(life.lists.size() == 1);
    CHECK(life.lists.front().max_answer == 512 * 1024);
    CHECK(life.message("Stalled") == std::string(32'768, 'x'));
}

TEST_CASE("the events are those of all JobSets of the namespace, so that its jobs can share a list") {
    Stalling life;
    life.look(30s);
    REQUIRE(life.lists.size() == 1);
    CHECK(life.lists.front().target ==
          "/api/v1/namespaces/ns/events?limit=200&fieldSelector="
          "involvedObject.kind%3DJobSet%2Ctype%3DWarning");
}

TEST_CASE("where the namespace has too many events a job reads its own as well") {
    Stalling life;
    SECTION("too many for one list") {
        for (int i = 0; i < 201; ++i)
            life.tell("a" + std::to_string(i),
                      Json::object({{"kind", "JobSet"}, {"name", "noisy"}, {"uid", "another"}}),
                      "of another");
    }
    SECTION("too many bytes") {
        life.server.watch_requests =
            [noted = life.server.watch_requests](const kube::Request& request) -> std::optional<api::Error> {
            noted(request);
            if (request.target.find("limit=200") == std::string::npos) return std::nullopt;
            return api::Error{.code = api::Errc::too_large, .message = "the answer is too large"};
        };
    }
    life.tell("b", life.this_job_set(), "exceeded quota");
    life.look(30s);
    CHECK(life.reads == Reads{"jobsets.jobset.x-k8s.io", "events", "events"});
    CHECK(life.message("Stalled") == "exceeded quota");
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

TEST_CASE("where a namespace has too many events of Jobs the first Job is asked about by its name") {
    Stalling life;
    life.set_counts(Json::object({{"name", "node"}}));
    life.look(1s);
    for (int i = 0; i < 201; ++i)
        life.tell("a" + std::to_string(i), Json::object({{"kind", "Job"}, {"name", "noisy-0"}}),
                  "of another");
    life.tell("b", Json::object({{"kind", "Job"}, {"name", "job-node-0"}}), "exceeded quota");
    life.look(30s);
    CHECK(life.reads == Reads{"jobsets.jobset.x-k8s.io", "events", "events", "events"});
    CHECK(life.message("Stalled") == "job node: exceeded quota");
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

TEST_CASE("events about a job that waits for another one are read every five minutes") {
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
    CHECK(life.reads == Reads{"jobsets.jobset.x-k8s.io", "events"});
    CHECK(life.condition("Stalled").empty());
    life.server.now += 60s;
    life.tell("refused", life.this_job_set(), "jobs.batch \"job-node-0\" is forbidden: exceeded quota",
              "Warning", "JobCreationFailed");
    life.look(240s);
    CHECK(life.condition("Stalled") == "True/JobsNotCreated");
    CHECK(life.message("Stalled") == "jobs.batch \"job-node-0\" is forbidden: exceeded quota");
}

}  // namespace controller
