// A TrainJob that may be corrected, up to its JobSet: no correction comes between the look at it and the
// JobSet.
#include "life.hpp"

namespace controller {
namespace {

const api::Error full = {.code = api::Errc::forbidden, .message = "exceeded quota", .http_status = 403};

// Its JobSet was refused: it waits for a correction.
struct Waiting : Life {
    bool refuses = true;                     // JobSets, also where they are only tried
    bool takes_trials = true;                // of webhooks: they can be asked without effects
    std::vector<std::string> requests = {};  // of JobSets, and of the status

    Waiting() {
        server.admit_create = [this](const model::Kind& kind, const Json&) -> std::optional<model::Reply> {
            if (kind.kind != "JobSet" || !refuses) return std::nullopt;
            return model::failure(403, "Forbidden", "jobsets \"job\" is forbidden: exceeded quota: few");
        };
        server.watch_requests = [this](const kube::Request& request) -> std::optional<api::Error> {
            const bool tries = request.target.find("dryRun=All") != std::string::npos;
            if (request.method != "GET" && request.target.starts_with(job_set_path))
                requests.emplace_back(tries ? "try" : "create");
            if (request.method != "GET" && request.target.starts_with(status_path))
                requests.push_back("status " + reason_in(request));
            if (tries && !takes_trials)
                return api::Error{.code = api::Errc::invalid,
                                  .message = "admission webhook \"x\" does not support dry run",
                                  .http_status = 400};
            return std::nullopt;
        };
        reconcile();
        requests.clear();
    }
    static std::string reason_in(const kube::Request& request) {
        const Json patch = api::parse_json(request.body).value();
        for (const Json& condition : patch["status"]["conditions"].items())
            if (condition["type"].as_string() == "Created")
                return std::string(condition["reason"].as_string());
        return "";
    }
};

using Requests = std::vector<std::string>;

bool creates(const kube::Request& request) {
    return request.method != "GET" && request.target.starts_with(job_set_path) &&
           request.target.find("dryRun=All") == std::string::npos;
}

// A creation of the JobSet that is long on its way: the reconciler gives up, and is refused when it tries
// again, so that the TrainJob may be corrected.
kube::Request delayed_creation(Waiting& life) {
    kube::Request delayed;
    const auto watch = life.server.watch_requests;
    life.server.watch_requests = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (!creates(request)) return watch(request);
        delayed = request;
        return api::Error{.code = api::Errc::unavailable, .message = "timeout"};
    };
    life.refuses = false;
    life.reconcile();
    life.server.watch_requests = watch;
    life.refuses = true;
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    return delayed;
}

void arrive(Waiting& life, kube::Request request) {
    life.refuses = false;
    const auto send = [&]() -> kube::Task<> { co_await life.server.send(request); };
    boost::asio::co_spawn(life.context, send(), boost::asio::detached);
    life.context.restart();
    life.context.run();
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["status"]["replicatedJobsStatus"] =
            api::parse_json(R"([{"name": "node", "active": 1}])").value();
    });
}

void correct(Waiting& life) {
    life.server.edit(train_jobs, key, [](Json& job) { job["spec"]["trainer"]["image"] = "second"; });
}

bool is_being_deleted(const Json& object) { return api::parse_meta(object).deletion.has_value(); }

Json image_of(const Json& job_set) {
    const Json& pod =
        job_set["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"]["template"]["spec"];
    return pod["containers"][std::size_t{0}]["image"];
}

}  // namespace

TEST_CASE("a JobSet that arrives after its TrainJob was corrected is built anew", "[reconcile]") {
    Waiting life;
    const kube::Request delayed = delayed_creation(life);
    correct(life);
    arrive(life, delayed);
    CHECK(image_of(life.job_set()) == "base");
    // Whatever keeps it from being deleted for a while.
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.method != "DELETE") return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "timeout"};
    };
    life.reconcile();
    CHECK_FALSE(is_being_deleted(life.job_set()));
    life.server.refuse = {};
    life.reconcile();
    CHECK(is_being_deleted(life.job_set()));
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    life.server.collect_garbage();
    life.reconcile();
    CHECK(image_of(life.job_set()) == "second");
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet that arrives after its TrainJob was corrected stays where a new one would lose something",
          "[reconcile]") {
    Waiting life;
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] =
            api::parse_json(R"([{"templates": [{"metadata": {"name": "data"}, "spec": {}}]}])").value();
    });
    const kube::Request delayed = delayed_creation(life);
    correct(life);
    arrive(life, delayed);
    CHECK_FALSE(life.reconcile().error);
    CHECK_FALSE(is_being_deleted(life.job_set()));
    CHECK(image_of(life.job_set()) == "base");
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK_FALSE(life.job()["status"]["jobsStatus"].empty());
    const auto says_why = [](const std::string& line) {
        return line.find("a new one would delete its volume claims") != std::string::npos;
    };
    CHECK(std::any_of(life.log_lines.begin(), life.log_lines.end(), says_why));
}

TEST_CASE("a JobSet that arrives late stays if nothing was corrected meanwhile", "[reconcile]") {
    Waiting life;
    arrive(life, delayed_creation(life));
    life.reconcile();
    CHECK_FALSE(is_being_deleted(life.job_set()));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK_FALSE(life.job()["status"]["jobsStatus"].empty());
}

TEST_CASE("a refused JobSet leaves its TrainJob open for a correction", "[reconcile]") {
    Waiting life;
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    life.reconcile();
    CHECK(life.requests == Requests{"try"});
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
}

TEST_CASE("the status says that nothing can be corrected any more before the JobSet is made", "[reconcile]") {
    Waiting life;
    life.refuses = false;
    SECTION("where it can be tried") {}
    SECTION("where a webhook cannot be asked without effects") { life.takes_trials = false; }
    life.reconcile();
    CHECK(life.requests == Requests{"try", "status JobsCreating", "create", "status JobsCreationSucceeded"});
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a job that nothing has kept from its JobSet is not tried", "[reconcile]") {
    Waiting life;
    life.refuses = false;
    life.server.erase(train_jobs, key);
    life.server.erase(config_maps, snapshot);
    life.server.put(train_jobs, api::parse_json(job_text).value());
    life.reconcile();
    CHECK(life.requests == Requests{"create", "status JobsCreationSucceeded"});
}

TEST_CASE("a correction that comes before the status conflicts with it, and is what is built",
          "[reconcile]") {
    Waiting life;
    life.refuses = false;
    const auto watch = life.server.watch_requests;
    bool corrected = false;
    life.server.watch_requests = [&](const kube::Request& request) {
        // Judged before the status is stored, and stored first.
        if (request.method != "GET" && request.target.starts_with(status_path) && !corrected) {
            corrected = true;
            life.server.edit(train_jobs, key, [](Json& job) { job["spec"]["trainer"]["image"] = "second"; });
        }
        return watch(request);
    };
    CHECK(life.reconcile().error);
    CHECK_FALSE(life.server.find(job_sets, key));
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    life.reconcile();
    const Json& job = std::as_const(life.job_set())["spec"]["replicatedJobs"][0];
    CHECK(job["template"]["spec"]["template"]["spec"]["containers"][0]["image"] == "second");
}

TEST_CASE("after a crash between the status and the JobSet the next reconcile makes it", "[reconcile]") {
    Waiting life;
    life.refuses = false;
    const auto watch = life.server.watch_requests;
    bool dead = false;
    life.server.watch_requests = [&](const kube::Request& request) -> std::optional<api::Error> {
        const bool creates = request.method != "GET" && request.target.starts_with(job_set_path) &&
                             request.target.find("dryRun=All") == std::string::npos;
        dead = dead || creates;
        if (dead) return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
        return watch(request);
    };
    life.reconcile();
    CHECK(life.condition("Created") == "Unknown/JobsCreating");
    CHECK_FALSE(api::may_be_corrected(api::parse_train_job(life.job())));
    life.server.watch_requests = watch;
    life.requests.clear();
    life.reconcile();
    CHECK(life.requests == Requests{"create", "status JobsCreationSucceeded"});
}

TEST_CASE("a JobSet that is refused although it was tried opens the TrainJob again", "[reconcile]") {
    Waiting life;
    life.refuses = false;
    const auto watch = life.server.watch_requests;
    life.server.watch_requests = [&](const kube::Request& request) {
        if (request.target.starts_with(status_path)) life.refuses = true;
        return watch(request);
    };
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(api::may_be_corrected(api::parse_train_job(life.job())));
}

TEST_CASE("a JobSet that is refused because another reconciler made it does not open the TrainJob",
          "[reconcile]") {
    Waiting life;
    life.refuses = false;
    const auto watch = life.server.watch_requests;
    bool made = false;
    life.server.watch_requests = [&](const kube::Request& request) -> std::optional<api::Error> {
        const bool creates = request.method != "GET" && request.target.starts_with(job_set_path) &&
                             request.target.find("dryRun=All") == std::string::npos;
        if (!creates) return watch(request);
        if (!made) {
            Json foreign = api::parse_json(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                "metadata": {"name": "job", "namespace": "ns"}, "spec": {"replicatedJobs": []}})")
                               .value();
            foreign["metadata"]["ownerReferences"] =
                Json::array({api::controller_reference(api::parse_meta(life.job()))});
            life.server.put(job_sets, foreign);
        }
        made = true;
        return full;
    };
    life.reconcile();
    CHECK(life.condition("Created") != "False/JobsCreationFailed");
    CHECK_FALSE(api::may_be_corrected(api::parse_train_job(life.job())));
}

}  // namespace controller
