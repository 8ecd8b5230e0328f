#pragma once
// An API server whose answers a test scripts. It records the requests.
#include <deque>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "kube/client/api_server.hpp"
#include "support/virtual_clock.hpp"

/// Returns an error in the form of the API server, as the client returns it.
inline api::Error refusal(int http_status, api::Errc code, std::string message = "no") {
    return {.code = code, .message = std::move(message), .http_status = http_status};
}

class FakeApiServer final : public kube::ApiServer {
public:
    explicit FakeApiServer(VirtualClock& clock) : clock_(clock) {}

    struct Closed {};
    struct Silence {};  // until cancelled
    using Happening = std::variant<std::string, Closed, Silence, api::Error, std::chrono::milliseconds>;
    using Script = std::vector<Happening>;

    /// Answers send(); by default with 404.
    std::function<api::Result<kube::Response>(const kube::Request&)> answer = [](const kube::Request&) {
        return api::Result<kube::Response>(refusal(404, api::Errc::not_found));
    };
    /// The time that an answer takes.
    std::chrono::milliseconds delay{0};
    /// The scripts of the watches, in order. Further watches stay silent.
    std::deque<api::Result<Script>> watches;
    std::vector<kube::Request> requests;
    int open_watches = 0;

    kube::Async<kube::Response> send(kube::Request request) override {
        requests.push_back(request);
        auto response = answer(request);
        if (delay.count() > 0) co_await clock_.sleep_until(clock_.now() + delay);
        co_return response;
    }

    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
        requests.push_back(request);
        api::Result<Script> script = Script{Silence{}};
        if (!watches.empty()) {
            script = std::move(watches.front());
            watches.pop_front();
        }
        if (!script) co_return script.error();
        std::unique_ptr<kube::Watch> opened = std::make_unique<FakeWatch>(*this, std::move(*script));
        co_return std::move(opened);
    }

private:
    class FakeWatch final : public kube::Watch {
    public:
        FakeWatch(FakeApiServer& server, Script script) : server_(server), script_(std::move(script)) {
            ++server_.open_watches;
        }
        ~FakeWatch() override { --server_.open_watches; }

        kube::Async<std::string> next() override {
            while (at_ < script_.size()) {
                const Happening& now = script_[at_++];
                if (const auto* line = std::get_if<std::string>(&now)) co_return *line;
                if (const auto* error = std::get_if<api::Error>(&now)) co_return *error;
                if (std::holds_alternative<Closed>(now)) co_return std::string();
                const auto* pause = std::get_if<std::chrono::milliseconds>(&now);
                const VirtualClock& clock = server_.clock_;
                const auto until = pause ? clock.now() + *pause : kube::SteadyTime::max();
                co_await server_.clock_.sleep_until(until);
            }
            co_return std::string();
        }

    private:
        FakeApiServer& server_;
        Script script_;
        std::size_t at_ = 0;
    };

    VirtualClock& clock_;
};
