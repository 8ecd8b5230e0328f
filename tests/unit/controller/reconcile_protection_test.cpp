// The disruption budget and the network policy of a job, through its life.
#include "life.hpp"
#include "support/protection.hpp"

namespace controller {
namespace {

using test::disruption_budgets;
using test::network_policies;

const std::string budgets_path = "/apis/policy/v1/namespaces/ns/poddisruptionbudgets";
const std::string policies_path = "/apis/networking.k8s.io/v1/namespaces/ns/networkpolicies";

const char* const budget_text = R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
    "metadata": {"name": "job", "namespace": "ns"}, "spec": {"minAvailable": 9}})";

struct Protected : Life {
    Protected() {
        ask_for_budget(true);
        set_in_runtime("networkPolicy", "Isolated");
    }
    void ask_for_budget(bool asked) {
        set_in_runtime("runPolicy", Json::object({{"disruptionBudget", asked}}));
    }
    Json budget() { return found(disruption_budgets); }
    Json policy() { return found(network_policies); }
    Json found(const api::Resource& kind) {
        const Json* live = server.find(kind, key);
        return live ? *live : Json();
    }
    // As the disruption controller does as soon as it sees a budget.
    void sync_budget() {
        server.edit(disruption_budgets, key, [](Json& live) {
            live["status"]["conditions"] =
                Json::array({Json::object({{"type", "DisruptionAllowed"}, {"status", "False"}})});
        });
    }
    void run() {
        reconcile();
        sync_budget();
        count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
        reconcile();
        server.take_writes();
    }
    void suspend() {
        set_suspend(true);
        reconcile();
        count_in_job_set(R"([{"name": "node", "suspended": 1}])");
        reconcile();
    }
    bool runs() { return !job_set()["spec"]["suspend"].bool_or(false); }
};

TEST_CASE("a job is protected before its JobSet is there, by what belongs to it", "[reconcile]") {
    Protected life;
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "POST " + budgets_path,
                                              "POST " + policies_path, "PATCH " + job_set_path,
                                              "PATCH " + status_path});
    CHECK(life.budget()["spec"]["minAvailable"] == Json(2));
    for (const Json& made : {life.budget(), life.policy()})
        CHECK(api::parse_meta(made).controller_uid == api::parse_meta(life.job()).uid);
    life.sync_budget();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("what its controller says of a disruption budget does not end it", "[reconcile]") {
    Protected life;
    bool refuses = true;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (!refuses || request.target.find("jobsets") == std::string::npos) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "try later", .http_status = 503};
    };
    life.reconcile();
    life.sync_budget();
    life.server.take_writes();
    refuses = false;
    life.reconcile();
    for (const std::string& write : life.server.take_writes())
        CHECK(write.find("poddisruptionbudgets") == std::string::npos);
    CHECK(life.runs());
}

TEST_CASE("a suspended job has no disruption budget, and keeps its network policy", "[reconcile]") {
    Protected life;
    life.run();
    life.suspend();
    CHECK(life.budget().is_null());
    CHECK_FALSE(life.policy().is_null());
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});

    life.set_suspend(false);
    life.reconcile();
    CHECK(life.budget()["spec"]["minAvailable"] == Json(2));
    CHECK(life.runs());
}

TEST_CASE("a job that has ended has no disruption budget", "[reconcile]") {
    Protected life;
    life.run();
    life.finish_job_set();
    life.reconcile();
    life.reconcile();
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    CHECK(life.budget().is_null());
    CHECK_FALSE(life.policy().is_null());
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("the protection of a job that runs is put back as it was", "[reconcile]") {
    Protected life;
    life.run();
    const Json policy = life.policy()["spec"];
    SECTION("if it is gone") {
        life.server.erase(disruption_budgets, key);
        life.server.erase(network_policies, key);
    }
    SECTION("if somebody has changed it") {
        life.server.edit(disruption_budgets, key, [](Json& live) { live["spec"]["minAvailable"] = 0; });
        life.server.edit(network_policies, key,
                         [](Json& live) { live["spec"]["ingress"].items().push_back(Json::object()); });
    }
    life.reconcile();
    CHECK(life.budget()["spec"]["minAvailable"] == Json(2));
    CHECK(life.policy()["spec"] == policy);
}

TEST_CASE("a resized job has the budget of its new size", "[reconcile]") {
    Protected life;
    life.run();
    life.suspend();
    life.set_in_job("trainer", Json::object({{"numNodes", 3}}));
    life.server.erase(job_sets, key);  // as the garbage collector, once it is deleted for the change
    life.reconcile();
    CHECK(life.budget().is_null());
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.budget()["spec"]["minAvailable"] == Json(3));
}

TEST_CASE("what a corrected runtime no longer asks for is withdrawn before the JobSet is there",
          "[reconcile]") {
    Protected life;
    bool refuses = true;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (!refuses || request.target.find("jobsets") == std::string::npos) return std::nullopt;
        return api::Error{.code = api::Errc::invalid, .message = "no such image", .http_status = 422};
    };
    life.reconcile();
    REQUIRE_FALSE(life.budget().is_null());
    REQUIRE_FALSE(life.policy().is_null());
    SECTION("as far as it is the job's own") {
        for (const api::Resource& kind : {disruption_budgets, network_policies})
            life.server.edit(kind, key, [](Json& live) { live["metadata"].erase("ownerReferences"); });
    }
    const bool is_own = !api::parse_meta(life.policy()).controller_uid.empty();
    life.ask_for_budget(false);
    life.set_in_runtime("networkPolicy", Json());
    refuses = false;
    life.reconcile();
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.policy().is_null() == is_own);
    CHECK(life.budget().is_null() == is_own);
}

TEST_CASE("protection of another owner stops the job before the first write, and stays", "[reconcile]") {
    Protected life;
    life.server.put(disruption_budgets, api::parse_json(budget_text).value());
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created") ==
          "PodDisruptionBudget ns/job exists already and does not belong to this TrainJob");
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.budget()["spec"]["minAvailable"] == Json(9));
}

TEST_CASE("protection of another owner is not withdrawn with the job's own", "[reconcile]") {
    Protected life;
    life.run();
    for (const api::Resource& kind : {disruption_budgets, network_policies})
        life.server.edit(kind, key, [](Json& live) { live["metadata"].erase("ownerReferences"); });
    life.finish_job_set();
    life.reconcile();
    life.reconcile();
    CHECK_FALSE(life.budget().is_null());
    CHECK_FALSE(life.policy().is_null());
}

}  // namespace
}  // namespace controller
