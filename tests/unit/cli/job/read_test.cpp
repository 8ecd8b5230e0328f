// What is known of Pods that cannot be read.
#include "job/read.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "fixtures.hpp"
#include "support/answering_server.hpp"
#include "support/printers.hpp"

namespace cli {
namespace {

constexpr const char* pods_query =
    "/api/v1/namespaces/vision/"
    "pods?limit=500&labelSelector=jobset.sigs.k8s.io%2Fjobset-name%20in%20%28night%29";

const api::Error forbidden = {.code = api::Errc::forbidden, .message = "no"};
const api::Error busy = {.code = api::Errc::unavailable, .message = "busy"};

struct Read {
    api::Result<> result = api::Error{.message = "it has not ended"};
    std::vector<Brief> jobs = {};
    std::vector<std::string> notes = {};
};

// Reads the Pods of a job that has ended, where there are no Jobs any more.
Read read_of_ended(AnsweringServer& server, bool only_pods) {
    boost::asio::io_context context;
    Read read = {
        .jobs = {Brief{
            .key = {"vision", "night"}, .stage = {.state = lifecycle::State::complete}, .stopped = now}}};
    const PodsQuery query = {.now = now, .all = true, .only_pods = only_pods};
    boost::asio::co_spawn(context, read_pods(server, read.jobs, query, read.notes),
                          [&read](std::exception_ptr, auto result) { read.result = std::move(result); });
    context.run();
    return read;
}

}  // namespace

TEST_CASE("Jobs tell of Pods that may not be read, unless Pods themselves are needed", "[wait]") {
    AnsweringServer server;
    server.has_empty_lists = true;
    server.errors[pods_query] = forbidden;
    const Read of_jobs = read_of_ended(server, false);
    REQUIRE(of_jobs.result);
    CHECK(of_jobs.jobs[0].pods.is_read);
    CHECK(of_jobs.notes.size() == 1);

    const Read refused = read_of_ended(server, true);
    REQUIRE_FALSE(refused.result);
    CHECK(refused.result.error().code == api::Errc::forbidden);
    CHECK(refused.result.error().message ==
          "pods could not be read (no), and nothing else tells when the last program has ended");
    CHECK_FALSE(refused.jobs[0].pods.is_read);

    server.errors.clear();
    CHECK(read_of_ended(server, true).jobs[0].pods.is_read);
}

TEST_CASE("Pods that are needed, and cannot be read for a moment, are read again later", "[wait]") {
    AnsweringServer server;
    server.has_empty_lists = true;
    server.errors[pods_query] = busy;
    const Read read = read_of_ended(server, true);
    REQUIRE(read.result);
    CHECK_FALSE(read.jobs[0].pods.is_read);
    CHECK(read.notes.size() == 1);
}

TEST_CASE("the message of a job that waits for a node is the scheduler's", "[list]") {
    AnsweringServer server;
    server.has_empty_lists = true;
    server.bodies[pods_query] = R"({"items": [
        {"metadata": {"name": "night-node-0-0", "namespace": "vision", "labels": {"jobset.sigs.k8s.io/jobset-name": "night"}},
         "spec": {"schedulingGroup": {"podGroupName": "night"}}, "status": {"phase": "Pending", "conditions": [
             {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes are available"}]}}]})";
    const auto message = [&server] {
        boost::asio::io_context context;
        Read read = {.jobs = {Brief{.key = {"vision", "night"},
                                    .stage = {.state = lifecycle::State::running},
                                    .needs_pods = true}}};
        boost::asio::co_spawn(context, read_pods(server, read.jobs, {.now = now}, read.notes),
                              [&read](std::exception_ptr, auto result) { read.result = std::move(result); });
        context.run();
        REQUIRE(read.result);
        CHECK(read.jobs[0].state.word == "waits for its Pods");
        CHECK(read.jobs[0].reason == "Unschedulable");
        return read.jobs[0].message;
    };
    CHECK(message() == "0/4 nodes are available");
    server.bodies
        ["/apis/scheduling.k8s.io/v1beta1/namespaces/vision/"
         "podgroups?limit=500&fieldSelector=metadata.name%3Dnight"] =
        R"({"items": [{"metadata": {"name": "night"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}, "status": {"conditions": [
            {"type": "PodGroupInitiallyScheduled", "status": "False", "message": "room for 3"}]}}]})";
    CHECK(message() == "waits as a gang of 4: room for 3");
}

}  // namespace cli
