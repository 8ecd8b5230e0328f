#include "progress/lease_keeper.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "net/process/task_group.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;

namespace {

const std::string path = "/apis/coordination.k8s.io/v1/namespaces/system/leases";

// A replica and an API server that stores its Lease.
struct Replica {
    explicit Replica(std::string ns = "system")
        : keeper(server, clock, log, {std::move(ns), "up"}, [this] { return state; }) {
        server.answer = [this](const kube::Request& request) -> api::Result<kube::Response> {
            if (error) return *error;
            if (request.method != "GET") stored = request.body;
            if (stored.empty()) return refusal(404, api::Errc::not_found);
            return kube::Response{200, stored};
        };
        loops.start(keeper.run(), [](const std::exception_ptr&) {});
    }
    ~Replica() {
        loops.cancel();
        clock.run_for(1min);
    }
    Replica(const Replica&) = delete;
    Replica& operator=(const Replica&) = delete;

    // Returns the requests of that time.
    std::vector<std::string> during(std::chrono::milliseconds time) {
        server.requests.clear();
        clock.run_for(time);
        std::vector<std::string> made;
        for (const kube::Request& request : server.requests)
            made.push_back(request.method + " " + request.target.substr(0, request.target.find('?')));
        return made;
    }

    boost::asio::io_context context{1};
    VirtualClock clock{context};
    FakeApiServer server{clock};
    std::optional<api::Error> error = {};
    std::string stored = {};
    progress::LeaseKeeper::State state = {.available = true};
    std::string log_text = {};
    net::Log log{net::LogLevel::debug, net::LogFormat::text,
                 [this](std::string_view line) { log_text += line; }};
    progress::LeaseKeeper keeper;
    net::TaskGroup loops{context.get_executor()};
};

using Requests = std::vector<std::string>;

}  // namespace

TEST_CASE("a replica that accepts reports creates its Lease and renews it every ten seconds", "[lease]") {
    Replica replica;
    CHECK(replica.during(9s) == Requests{"GET " + path + "/up", "POST " + path});
    CHECK(replica.during(10s) == Requests{"GET " + path + "/up", "PUT " + path + "/up"});
    CHECK(replica.during(30s).size() == 6);
}

TEST_CASE("a replica that is not available reads the Lease and leaves it alone", "[lease]") {
    Replica replica;
    replica.state.available = false;
    CHECK(replica.during(19s) == Requests{"GET " + path + "/up", "GET " + path + "/up"});
    replica.state = {.available = true, .reports_wait = true};
    CHECK(replica.during(10s) == Requests{"GET " + path + "/up"});
    replica.state.reports_wait = false;
    CHECK(replica.during(10s) == Requests{"GET " + path + "/up", "POST " + path});
}

TEST_CASE("without a namespace the keeper only asks whether the API server answers", "[lease]") {
    Replica replica("");
    CHECK(replica.during(15s) == Requests{"GET /version", "GET /version"});
}

TEST_CASE("an API server that fails or does not answer in five seconds ends no round but its own",
          "[lease]") {
    Replica replica;
    replica.error = refusal(500, api::Errc::unavailable);
    CHECK(replica.during(9s) == Requests{"GET " + path + "/up"});
    replica.error.reset();
    replica.server.delay = 1h;
    CHECK(replica.during(10s) == Requests{"GET " + path + "/up"});
    replica.server.delay = 0s;
    CHECK(replica.during(10s) == Requests{"GET " + path + "/up", "POST " + path});
}

TEST_CASE("a Lease that another replica wrote first is only logged for debugging", "[lease]") {
    Replica replica;
    replica.during(9s);
    replica.server.answer = [stored = replica.stored](const kube::Request& request) {
        return request.method == "GET" ? api::Result<kube::Response>(kube::Response{200, stored})
                                       : api::Result<kube::Response>(refusal(409, api::Errc::conflict));
    };
    CHECK(replica.during(10s).size() == 2);
    CHECK(replica.log_text.find("the Lease was not renewed") != std::string::npos);
}
