// The apply of a resume that is on its way while its TrainJob is suspended, resized and resumed: the JobSet
// runs with the former number of nodes, and is made anew.
#include "life.hpp"

namespace controller {
namespace {

const api::ObjectKey hostfile = {"ns", "job-mpi-hostfile"};

bool is_write_of_job_set(const kube::Request& request) {
    return request.method != "GET" && request.target.starts_with(job_set_path);
}

void claim_volumes(Json& runtime) {
    runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] =
        api::parse_json(R"([{"templates": [{"metadata": {"name": "data"}, "spec": {}}]}])").value();
}

// Of two nodes and a launcher.
void launch_by_mpi(Json& runtime) {
    runtime["spec"]["mlPolicy"] =
        api::parse_json(R"({"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI", "numProcPerNode": 1}})")
            .value();
    runtime["spec"]["template"]["spec"]["replicatedJobs"].push_back(
        api::parse_json(
            R"({"name": "launcher", "template": {"spec": {"template": {"spec": {"containers": [
                {"name": "node", "image": "base"}]}}}}})")
            .value());
}

struct Overtaken : Life {
    lifecycle::RetryState retry_state = {};

    // `trainer`: before and after the suspension.
    explicit Overtaken(
        const std::function<void(Json&)>& change_runtime = [](Json&) {},
        const char* before = R"({"numNodes": 2})", const char* after = R"({"numNodes": 3})") {
        server.edit(cluster_training_runtimes, torch, change_runtime);
        set_trainer(before);
        set_suspend(true);
        reconcile();
        count("suspended");
        reconcile();
        set_suspend(false);
        kube::Request delayed;
        server.watch_requests = [&](const kube::Request& request) -> std::optional<api::Error> {
            if (!is_write_of_job_set(request)) return std::nullopt;
            delayed = request;
            return api::Error{.code = api::Errc::unavailable, .message = "timeout"};
        };
        reconcile();
        server.watch_requests = {};
        REQUIRE_FALSE(delayed.target.empty());
        set_trainer(after);
        const auto send = [&]() -> kube::Task<> { co_await server.send(delayed); };
        boost::asio::co_spawn(context, send(), boost::asio::detached);
        context.restart();
        context.run();
        count("active");
        REQUIRE(nodes() == 2);
        REQUIRE_FALSE(is_suspended());
        log_lines.clear();
        retry_state.service = has_service();
    }
    void set_trainer(const char* trainer) { set_in_job("trainer", api::parse_json(trainer).value()); }
    // As the controller does, with what the last reconcile has left.
    ReconcileResult look() {
        server.show(cache);
        ReconcileResult result;
        const auto run = [&]() -> kube::Task<> { result = co_await reconciler.reconcile(key, retry_state); };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        retry_state = result.retry_state;
        return result;
    }
    // A quota, a policy or a webhook.
    void refuse_more_nodes_than(int most) {
        server.admit_create = [most](const model::Kind&, const Json& object) -> std::optional<model::Reply> {
            const Json& job = object["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"];
            if (job["parallelism"].int_or(0) <= most) return std::nullopt;
            return model::failure(403, "Forbidden", "admission webhook \"few\" denied the request: too many");
        };
    }
    std::string hosts() const {
        return std::string((*server.find(config_maps, hostfile))["data"]["hostfile"].as_string());
    }
    void edit_hosts() {
        server.edit(config_maps, hostfile, [](Json& map) { map["data"]["hostfile"] = "others"; });
    }
    // JobSet's counts of its only Job.
    void count(const char* state) {
        server.edit(job_sets, key, [state](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                Json::array({Json::object({{"name", "node"}, {state, 1}})});
        });
    }
    std::int64_t nodes() const {
        return job_set()["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"]["parallelism"].int_or(
            0);
    }
    bool is_suspended() const { return job_set()["spec"]["suspend"].bool_or(false); }
    std::ptrdiff_t times_said(std::string_view text) const {
        return std::count_if(log_lines.begin(), log_lines.end(),
                             [&](const std::string& line) { return line.find(text) != line.npos; });
    }
};

}  // namespace

TEST_CASE("a JobSet that runs with a former number of nodes is made anew once its Pods have ended",
          "[reconcile]") {
    Overtaken life;
    CHECK_FALSE(life.reconcile().error);
    CHECK(life.is_suspended());
    CHECK(life.condition("Suspended") == "False/Resumed");
    life.reconcile();
    CHECK_FALSE(api::parse_meta(life.job_set()).deletion);
    life.count("suspended");
    life.reconcile();
    CHECK(api::parse_meta(life.job_set()).deletion);
    life.server.collect_garbage();
    life.reconcile();
    CHECK(life.nodes() == 3);
    CHECK_FALSE(life.is_suspended());
    life.count("active");
    life.reconcile();
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a JobSet keeps a former number of nodes if a new one would lose something", "[reconcile]") {
    const auto [claims, why] = GENERATE(std::pair(true, "a new one would delete its volume claims"),
                                        std::pair(false, "a new one would run again what has finished"));
    Overtaken life(claims ? claim_volumes : [](Json&) {});
    if (!claims) life.count("succeeded");
    CHECK_FALSE(life.look().requeue_after);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.times_said(why) == 1);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.look();
    CHECK(life.times_said(why) == 1);
    CHECK_FALSE(life.is_suspended());
}

TEST_CASE("a JobSet keeps a former number of nodes once its Pods have run for ten minutes", "[reconcile]") {
    const bool works = GENERATE(true, false);
    Overtaken life;
    // Pods that wait for nodes have computed nothing.
    if (works)
        life.server.edit(job_sets, key, [](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"].items()[0]["ready"] = 1;
        });
    life.server.now += 600s;
    life.refuse_more_nodes_than(2);
    CHECK(life.look().requeue_after == 1s);
    life.refuse_more_nodes_than(3);
    life.server.now += 1s;
    life.look();
    CHECK(life.is_suspended() == !works);
    if (works) CHECK_FALSE(life.look().requeue_after);
}

TEST_CASE("a JobSet that has kept a former number of nodes is resumed with it", "[reconcile]") {
    Overtaken life(claim_volumes);
    life.look();
    life.set_suspend(true);
    life.look();
    REQUIRE(life.is_suspended());
    life.count("suspended");
    life.set_suspend(false);
    life.look();
    life.look();
    CHECK_FALSE(life.is_suspended());
    CHECK(life.nodes() == 2);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet keeps a former number of nodes while a new one would be refused", "[reconcile]") {
    Overtaken life;
    life.refuse_more_nodes_than(2);
    const ReconcileResult kept = life.look();
    CHECK_FALSE(kept.error);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.times_said(
              "which would be refused: admission webhook \\\"few\\\" denied the request: too many") == 1);
    CHECK(kept.requeue_after == 1s);
    life.server.now += 1s;
    CHECK(life.look().requeue_after == 2s);
    CHECK(life.times_said("JobSetKept") == 1);
    // The count was not taken for what has not been done.
    CHECK((*life.server.find(config_maps, snapshot))["metadata"]["annotations"].is_null());
    life.refuse_more_nodes_than(3);
    CHECK_FALSE(life.look().error);
    CHECK(life.is_suspended());
}

TEST_CASE("a JobSet keeps a former number of nodes where a new one cannot be built", "[reconcile]") {
    Overtaken life([](Json&) {}, R"({"numNodes": 2})", R"({"numNodes": 3, "args": "x"})");
    const ReconcileResult kept = life.look();
    CHECK_FALSE(life.is_suspended());
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.times_said("a new one cannot be built: ") == 1);
    CHECK(kept.requeue_after == 1s);
}

TEST_CASE("a JobSet keeps a former number of nodes without the snapshot that a new one is built from",
          "[reconcile]") {
    Overtaken life;
    life.server.erase(config_maps, snapshot);
    CHECK_FALSE(life.look().error);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.times_said("the snapshot of its runtime is gone") == 1);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("no verdict on a new JobSet suspends no JobSet that runs", "[reconcile]") {
    Overtaken life;
    life.server.watch_requests = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find("dryRun=All") == std::string::npos) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "no answer", .http_status = 503};
    };
    const ReconcileResult looked = life.look();
    CHECK_FALSE(looked.error);
    CHECK(looked.requeue_after);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.times_said("JobSetKept") == 1);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("the API server gets the pause that it asks for while a new JobSet is tried", "[reconcile]") {
    Overtaken life;
    life.server.watch_requests = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find("dryRun=All") == std::string::npos) return std::nullopt;
        return api::Error{
            .code = api::Errc::unavailable, .message = "busy", .http_status = 429, .retry_after = 20s};
    };
    const ReconcileResult looked = life.look();
    REQUIRE(looked.error);
    CHECK(looked.error->retry_after == 20s);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.times_said("JobSetKept") == 0);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("what belongs to a JobSet that keeps a former number of nodes is looked after for that number",
          "[reconcile]") {
    const bool refused = GENERATE(true, false);
    Overtaken life([refused](Json& runtime) {
        launch_by_mpi(runtime);
        if (!refused) claim_volumes(runtime);
    });
    if (refused) life.refuse_more_nodes_than(2);
    const std::string two_hosts = life.hosts();
    REQUIRE(std::count(two_hosts.begin(), two_hosts.end(), '\n') == 2);
    life.edit_hosts();
    CHECK_FALSE(life.look().error);
    CHECK(life.times_said("JobSetKept") == 1);
    CHECK(life.hosts() == two_hosts);
    life.edit_hosts();
    life.look();
    CHECK(life.hosts() == two_hosts);
    CHECK_FALSE(life.is_suspended());
}

TEST_CASE("a number of nodes that is what the runtime has asks for no new JobSet", "[reconcile]") {
    const auto [before, after] =
        GENERATE(std::pair("{}", R"({"numNodes": 2})"), std::pair(R"({"numNodes": 2})", "{}"));
    Overtaken life([](Json&) {}, before, after);
    const ReconcileResult looked = life.look();
    CHECK_FALSE(looked.error);
    CHECK_FALSE(looked.requeue_after);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.times_said("JobSetKept") == 0);
}

TEST_CASE("a JobSet is not suspended for a TrainJob or a JobSet that has changed since it was read",
          "[reconcile]") {
    Overtaken life;
    const auto resource = GENERATE(train_jobs, job_sets);
    int reads = 0;
    life.server.watch_requests =
        [&, resource = resource](const kube::Request& request) -> std::optional<api::Error> {
        // By the live view, and before the suspension.
        if (request.method == "GET" && request.target.starts_with(job_path) && ++reads == 2)
            life.server.edit(resource, key, [](Json& object) { object["metadata"]["labels"]["a"] = "b"; });
        return std::nullopt;
    };
    CHECK(life.reconcile().error);
    CHECK_FALSE(life.is_suspended());
    life.server.watch_requests = {};
    life.reconcile();
    CHECK(life.is_suspended());
}

}  // namespace controller
