// The apply of a resume that is on its way while its TrainJob is suspended, resized and resumed: the JobSet
// runs with the former number of nodes, and is made anew.
#include "life.hpp"

namespace controller {
namespace {

bool is_write_of_job_set(const kube::Request& request) {
    return request.method != "GET" && request.target.starts_with(job_set_path);
}

struct Overtaken : Life {
    explicit Overtaken(bool has_claims = false) {
        if (has_claims)
            server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
                runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] =
                    api::parse_json(R"([{"templates": [{"metadata": {"name": "data"}, "spec": {}}]}])")
                        .value();
            });
        set_nodes_of_job(2);
        set_suspend(true);
        pass();
        count("suspended");
        pass();
        set_suspend(false);
        kube::Request delayed;
        server.watch_requests = [&](const kube::Request& request) -> std::optional<api::Error> {
            if (!is_write_of_job_set(request)) return std::nullopt;
            delayed = request;
            return api::Error{.code = api::Errc::unavailable, .message = "timeout"};
        };
        pass();
        server.watch_requests = {};
        REQUIRE_FALSE(delayed.target.empty());
        set_nodes_of_job(3);
        const auto send = [&]() -> kube::Task<> { co_await server.send(delayed); };
        boost::asio::co_spawn(context, send(), boost::asio::detached);
        context.restart();
        context.run();
        count("active");
        REQUIRE(nodes() == 2);
        REQUIRE_FALSE(is_suspended());
    }
    void set_nodes_of_job(int nodes) { set_in_job("trainer", Json::object({{"numNodes", nodes}})); }
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
    bool has_said(std::string_view text) const {
        return std::any_of(log_lines.begin(), log_lines.end(),
                           [&](const std::string& line) { return line.find(text) != line.npos; });
    }
};

}  // namespace

TEST_CASE("a JobSet that runs with a former number of nodes is made anew once its Pods have ended",
          "[pass]") {
    Overtaken life;
    CHECK_FALSE(life.pass().error);
    CHECK(life.is_suspended());
    CHECK(life.condition("Suspended") == "False/Resumed");
    life.pass();
    CHECK_FALSE(api::parse_meta(life.job_set()).deletion);
    life.count("suspended");
    life.pass();
    CHECK(api::parse_meta(life.job_set()).deletion);
    life.server.collect_garbage();
    life.pass();
    CHECK(life.nodes() == 3);
    CHECK_FALSE(life.is_suspended());
    life.count("active");
    life.pass();
    life.server.take_writes();
    life.pass();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a JobSet keeps a former number of nodes if a new one would lose something", "[pass]") {
    const auto [claims, why] = GENERATE(std::pair(true, "a new one would delete its volume claims"),
                                        std::pair(false, "a new one would run again what has finished"));
    Overtaken life(claims);
    if (!claims) life.count("succeeded");
    CHECK_FALSE(life.pass().error);
    CHECK_FALSE(life.is_suspended());
    CHECK(life.has_said(why));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet is not suspended for a TrainJob or a JobSet that has changed since it was read",
          "[pass]") {
    Overtaken life;
    const auto [path, resource] =
        GENERATE(std::pair(job_path, train_jobs), std::pair(job_set_path, job_sets));
    int reads = 0;
    life.server.watch_requests =
        [&, path = path, resource = resource](const kube::Request& request) -> std::optional<api::Error> {
        // By the live view, and before the suspension.
        if (request.method == "GET" && request.target.starts_with(path) && ++reads == 2)
            life.server.edit(resource, key, [](Json& object) { object["metadata"]["labels"]["a"] = "b"; });
        return std::nullopt;
    };
    CHECK(life.pass().error);
    CHECK_FALSE(life.is_suspended());
    life.server.watch_requests = {};
    life.pass();
    CHECK(life.is_suspended());
}

}  // namespace controller
