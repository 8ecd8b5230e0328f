// The look at the jobs that use an edited or deleted runtime.
#include <catch2/catch.hpp>

#include "reviews.hpp"
#include "support/printers.hpp"

using api::Json;
using test::Fixture;
using test::post;
using test::Reply;
using test::review;
using namespace std::chrono_literals;

namespace {

// Returns pages with so many jobs that use the runtime.
void serve_pages(Fixture& fixture, std::vector<std::size_t> sizes) {
    fixture.server.answer = [sizes](const kube::Request& request) -> api::Result<kube::Response> {
        const auto at = request.target.find("&continue=");
        const std::size_t page = at == request.target.npos ? 0 : std::stoul(request.target.substr(at + 10));
        Json list = Json::object({{"items", Json::array()}});
        for (std::size_t i = 0; i < sizes[page]; ++i) list["items"].push_back(test::train_job());
        if (page + 1 < sizes.size()) list["metadata"]["continue"] = std::to_string(page + 1);
        return kube::Response{200, api::to_json(list)};
    };
}

Json edited_runtime() {
    Json runtime = test::cluster_runtime();
    runtime["spec"]["mlPolicy"]["numNodes"] = 7;
    return runtime;
}

std::string warning(const Reply& reply) {
    const auto& warnings = reply.response["warnings"].items();
    return warnings.empty() ? "" : std::string(warnings.front().as_string());
}

net::HttpRequest edit() {
    return post(test::cluster_runtime_path, review("UPDATE", edited_runtime(), test::cluster_runtime()));
}
net::HttpRequest deletion() {
    return post(test::cluster_runtime_path, review("DELETE", Json(), test::cluster_runtime()));
}

}  // namespace

TEST_CASE("the warning of a runtime's edit or deletion has the number of jobs that use it", "[inputs]") {
    for (const auto& request : {edit, deletion}) {
        Fixture fixture;
        serve_pages(fixture, {2, 1});
        const Reply reply = fixture.ask(request());
        CHECK(reply.allowed());
        CHECK_THAT(warning(reply), Catch::StartsWith("3 TrainJobs have no JobSet yet"));
        REQUIRE(fixture.server.requests.size() == 2);
        CHECK(fixture.server.requests[0].target == "/apis/trainer.kubeflow.org/v1alpha1/trainjobs?limit=250");
        CHECK(warning(fixture.ask(post(test::cluster_runtime_path, review("CREATE", edited_runtime()))))
                  .empty());
    }
}

TEST_CASE("of very many jobs a part is counted, and not for every edit", "[inputs]") {
    Fixture fixture;
    fixture.patience = 0s;
    serve_pages(fixture, {1, 1, 1, 1, 1, 1});
    CHECK_THAT(warning(fixture.ask(edit())), Catch::StartsWith("4 or more TrainJobs"));
    CHECK(fixture.server.requests.size() == 4);
    for (int i = 0; i < 50; ++i) CHECK(fixture.ask(edit()).allowed());
    CHECK(fixture.server.requests.size() == 4);
    fixture.clock.run_for(1s);
    CHECK_FALSE(warning(fixture.ask(edit())).empty());
}

TEST_CASE("if jobs are too large to count, the warning has no number", "[inputs]") {
    Fixture fixture;
    std::size_t most = 0;
    fixture.server.answer = [&](const kube::Request& request) -> api::Result<kube::Response> {
        most = request.max_answer;
        return api::Error{.code = api::Errc::too_large};
    };
    CHECK_THAT(warning(fixture.ask(edit())), Catch::StartsWith("TrainJobs may use it"));
    CHECK(most == 4 * 1024 * 1024);
}

TEST_CASE("concurrent edits of two runtimes both get the warning", "[inputs]") {
    Fixture fixture;
    fixture.patience = 0s;
    serve_pages(fixture, {1});
    CHECK_FALSE(warning(fixture.ask(edit())).empty());
    Json before = test::cluster_runtime("other");
    Json after = before;
    after["spec"]["mlPolicy"]["numNodes"] = 7;
    fixture.ask(post(test::cluster_runtime_path, review("UPDATE", after, before)));
    CHECK(fixture.server.requests.size() == 2);
    // Of very many concurrent edits not all do.
    for (int i = 0; i < 20; ++i) {
        before["metadata"]["name"] = after["metadata"]["name"] = "other-" + std::to_string(i);
        CHECK(fixture.ask(post(test::cluster_runtime_path, review("UPDATE", after, before))).allowed());
    }
    CHECK(fixture.server.requests.size() == 5);
}

TEST_CASE("jobs of a runtime that cannot exist are not counted", "[inputs]") {
    Fixture fixture;
    serve_pages(fixture, {1});
    const std::string names[] = {"", "Torch", "a/b", std::string(254, 'a'), std::string(1'000'000, 'a')};
    for (const std::string& name : names) {
        Json of_name = review("DELETE", Json(), test::cluster_runtime());
        of_name["request"]["name"] = name;
        CHECK(fixture.ask(post(test::cluster_runtime_path, of_name)).allowed());
        Json of_namespace = review("DELETE", Json(), test::namespaced_runtime());
        of_namespace["request"]["namespace"] = name.empty() ? "." : name;
        CHECK(fixture.ask(post(test::runtime_path, of_namespace)).allowed());
    }
    CHECK(fixture.server.requests.empty());
    CHECK_FALSE(warning(fixture.ask(deletion())).empty());
}

TEST_CASE("a failed count delays no edit and no deletion", "[inputs]") {
    for (const auto& request : {edit, deletion}) {
        Fixture fixture;
        fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
            return refusal(403, api::Errc::forbidden);
        };
        CHECK(fixture.ask(request()).allowed());
        CHECK(fixture.server.requests.size() == 1);
        serve_pages(fixture, {1});
        fixture.server.delay = 1h;
        fixture.clock.run_for(1s);
        const Reply late = fixture.ask(request());
        CHECK(late.allowed());
        CHECK(warning(late).empty());
    }
}

TEST_CASE("a runtime is edited without a count while too many reviews wait", "[inputs]") {
    Fixture fixture;
    serve_pages(fixture, {1});
    std::vector<net::Semaphore::Permit> waiting;
    while (auto permit = fixture.lookup_permits.try_take()) waiting.push_back(std::move(permit));
    CHECK(fixture.ask(edit()).allowed());
    CHECK(fixture.server.requests.empty());
}

TEST_CASE("jobs are counted in the namespaces that the webhook may read", "[inputs]") {
    Fixture fixture({}, kube::Namespaces({"a", "b"}));
    serve_pages(fixture, {1});
    CHECK_THAT(warning(fixture.ask(edit())), Catch::StartsWith("2 TrainJobs"));
    CHECK(fixture.server.requests.size() == 2);
    Json before = test::namespaced_runtime();
    before["metadata"]["namespace"] = "b";
    Json after = before;
    after["spec"]["mlPolicy"]["numNodes"] = 7;
    fixture.server.requests.clear();
    fixture.clock.run_for(1s);
    fixture.ask(post(test::runtime_path, review("UPDATE", after, before)));
    REQUIRE(fixture.server.requests.size() == 1);
    CHECK_THAT(fixture.server.requests[0].target, Catch::Contains("/namespaces/b/trainjobs?"));
}

TEST_CASE("a platform that keeps runtimes in use denies their deletion, and no edit", "[inputs]") {
    Fixture fixture({}, {}, {.keeps_runtimes_in_use = true});
    serve_pages(fixture, {0, 1});
    const Reply denied = fixture.ask(deletion());
    CHECK_FALSE(denied.allowed());
    CHECK(denied.response["status"]["code"].as_int() == 422);
    CHECK_THAT(std::string(denied.response["status"]["message"].as_string()),
               Catch::Contains("metadata.name: Forbidden: 1 TrainJob that has not ended uses it"));
    fixture.clock.run_for(1s);
    CHECK(fixture.ask(edit()).allowed());
    fixture.clock.run_for(1s);
    serve_pages(fixture, {0});
    CHECK(fixture.ask(deletion()).allowed());
}

TEST_CASE("a runtime is kept if nobody can tell whether it is in use", "[inputs]") {
    const auto code_of = [](const Reply& reply) { return reply.response["status"]["code"].as_int(); };
    Fixture fixture({}, {}, {.keeps_runtimes_in_use = true});
    fixture.patience = 0s;
    serve_pages(fixture, {0});
    CHECK(fixture.ask(deletion()).allowed());
    CHECK(code_of(fixture.ask(deletion())) == 503);  // the second within a second
    fixture.clock.run_for(1s);
    std::vector<net::Semaphore::Permit> waiting;
    while (auto permit = fixture.lookup_permits.try_take()) waiting.push_back(std::move(permit));
    CHECK(code_of(fixture.ask(deletion())) == 503);
    waiting.clear();
    fixture.clock.run_for(1s);
    fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
        return refusal(403, api::Errc::forbidden);
    };
    CHECK(code_of(fixture.ask(deletion())) == 503);
    fixture.clock.run_for(1s);
    serve_pages(fixture, std::vector<std::size_t>(41, 0));
    CHECK(code_of(fixture.ask(deletion())) == 422);
}
