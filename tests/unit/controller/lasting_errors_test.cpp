// What a TrainJob says while its JobSet cannot be made, over time.
#include "shop.hpp"

namespace {

const std::string job_set_path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/job";
const std::string runtime_path = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/plain";

api::Error webhook_down() {
    return {.code = api::Errc::unavailable,
            .message = "Internal error occurred: failed calling webhook: connection refused",
            .http_status = 500};
}

// One job, and the clock of its API server goes on with virtual time.
struct WithErrors : Shop {
    const api::Time began = server.now;
    const kube::SteadyTime began_at = time.now();

    WithErrors() {
        on_reconcile = [this] { server.now = began + std::chrono::floor<std::chrono::seconds>(elapsed()); };
        submit("job");
    }
    kube::SteadyTime::duration elapsed() const { return time.now() - began_at; }
    void refuse_job_sets(api::Error error) {
        server.refuse = [error](const kube::Request& request) -> std::optional<api::Error> {
            if (request.target == job_set_path) return error;
            return std::nullopt;
        };
    }
    // The caches see everything within a second.
    void until(std::chrono::seconds when) {
        while (elapsed() < when) {
            server.show(cache);
            time.run_for(std::min<std::chrono::milliseconds>(
                1s, std::chrono::ceil<std::chrono::milliseconds>(when - elapsed())));
        }
    }
    std::string created() {
        const api::TrainJob job = api::parse_train_job(*server.find(train_jobs, {"ns", "job"}));
        const api::Condition* found = api::find_condition(job.conditions, api::condition::created);
        return found ? found->status + "/" + found->reason + " " + found->message : "";
    }
};

}  // namespace

TEST_CASE("a job whose JobSet no webhook judges says so within 15 s, keeps saying so, and then goes on") {
    WithErrors shop;
    shop.refuse_job_sets(webhook_down());
    shop.until(14s);
    CHECK(shop.created().empty());
    shop.until(16s);
    const std::string said =
        "Unknown/JobsCreationRetrying JobSet ns/job: Internal error occurred: failed calling webhook: "
        "connection refused";
    CHECK(shop.created() == said);
    shop.server.take_writes();
    shop.until(3600s);
    CHECK(shop.created() == said);
    for (const std::string& write : shop.server.take_writes())
        CHECK(write.find("/status") == std::string::npos);
    shop.server.refuse = {};
    shop.until(3901s);
    CHECK(shop.created() == "True/JobsCreationSucceeded Succeeded to create Jobs");
    CHECK(shop.has_job_set("job"));
}

TEST_CASE("a job whose JobSet needs a permission that is missing says which") {
    WithErrors shop;
    shop.refuse_job_sets({.code = api::Errc::forbidden,
                          .message = "jobsets.jobset.x-k8s.io \"job\" is forbidden: User \"x\" cannot patch "
                                     "resource \"jobsets\"",
                          .http_status = 403});
    shop.until(16s);
    CHECK(shop.created() ==
          "False/PermissionDenied JobSet ns/job: jobsets.jobset.x-k8s.io \"job\" is forbidden: User \"x\" "
          "cannot patch resource \"jobsets\"");
}

TEST_CASE("a field that JobSet does not have is said at once") {
    WithErrors shop;
    shop.refuse_job_sets({.code = api::Errc::unavailable,
                          .message = "failed to create typed patch object: .spec.new: field not declared in "
                                     "schema",
                          .http_status = 500});
    shop.until(1s);
    CHECK(shop.created() ==
          "False/JobsCreationFailed JobSet ns/job: failed to create typed patch object: .spec.new: field not "
          "declared in schema");
}

TEST_CASE("a job whose runtime cannot be read says so, and goes on when it can") {
    WithErrors shop;
    shop.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target == runtime_path) return webhook_down();
        return std::nullopt;
    };
    shop.until(14s);
    CHECK(shop.created().empty());
    shop.until(16s);
    CHECK(shop.created() ==
          "Unknown/JobsBuildRetrying ClusterTrainingRuntime plain: Internal error occurred: failed calling "
          "webhook: connection refused");
    shop.server.refuse_read = {};
    shop.until(40s);
    CHECK(shop.has_job_set("job"));
}

TEST_CASE("a job whose JobSet a slow webhook keeps failing says so after the second attempt") {
    WithErrors shop;
    shop.refuse_job_sets(webhook_down());
    shop.delay = 10s;
    shop.is_slow = [](const kube::Request& request) {
        return request.target.starts_with(job_set_path + "?");
    };
    shop.until(20s);
    CHECK(shop.created().empty());
    shop.until(22s);
    CHECK(shop.created().starts_with("Unknown/JobsCreationRetrying JobSet ns/job: Internal error occurred"));
}

TEST_CASE("causes that take turns do not make a job busy") {
    WithErrors shop;
    int attempts = 0;
    shop.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target != job_set_path) return std::nullopt;
        api::Error error = webhook_down();
        if (++attempts % 2 == 0)
            error = {.code = api::Errc::forbidden,
                     .message =
                         "jobsets.jobset.x-k8s.io \"job\" is forbidden: User \"x\" cannot patch "
                         "resource \"jobsets\"",
                     .http_status = 403};
        return error;
    };
    shop.until(600s);
    CHECK(attempts < 20);
    CHECK_FALSE(shop.created().empty());
}
