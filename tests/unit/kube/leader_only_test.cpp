#include "kube/manager/leader_only.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "support/printers.hpp"

namespace {

class Recorder final : public kube::ApiServer {
public:
    kube::Async<kube::Response> send(kube::Request request) override {
        methods.push_back(request.method);
        co_return kube::Response{200, "{}"};
    }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request) override {
        co_return api::Error{.code = api::Errc::internal};
    }
    std::vector<std::string> methods = {};
};

std::optional<api::Result<kube::Response>> send(kube::ApiServer& server, std::string method) {
    boost::asio::io_context context;
    std::optional<api::Result<kube::Response>> answer;
    const auto ask = [&]() -> kube::Task<> {
        kube::Request request;
        request.method = method;
        answer = co_await server.send(std::move(request));
    };
    boost::asio::co_spawn(context, ask(), boost::asio::detached);
    context.run();
    return answer;
}

}  // namespace

TEST_CASE("a process without the lease reads, but writes nothing") {
    Recorder recorder;
    bool leading = true;
    kube::LeaderOnly guard(recorder, [&] { return leading; });
    CHECK(send(guard, "PATCH")->has_value());
    leading = false;
    CHECK(send(guard, "GET")->has_value());
    for (const char* method : {"PATCH", "POST", "PUT", "DELETE"}) {
        const auto refused = send(guard, method);
        REQUIRE(!refused->has_value());
        CHECK(refused->error().code == api::Errc::unavailable);
    }
    CHECK(recorder.methods == std::vector<std::string>{"PATCH", "GET"});
}
