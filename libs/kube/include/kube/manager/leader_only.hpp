#pragma once
#include <functional>

#include "kube/client/api_server.hpp"

namespace kube {

/// Sends writes only while `leading` returns true. A process that was stopped and continues as a former
/// leader would otherwise finish its reconciles. Preconditions make that harmless; this makes it rare.
class LeaderOnly final : public kube::ApiServer {
public:
    LeaderOnly(kube::ApiServer& server, std::function<bool()> leading)
        : server_(server), leading_(std::move(leading)) {}

    kube::Async<kube::Response> send(kube::Request request) override {
        const bool may = request.method == "GET" || leading_();
        return may ? server_.send(std::move(request)) : refuse();
    }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
        return server_.watch(std::move(request));
    }

private:
    static kube::Async<kube::Response> refuse() {
        co_return api::Error{.code = api::Errc::unavailable,
                             .message = "this process holds no lease any more"};
    }

    kube::ApiServer& server_;
    std::function<bool()> leading_;
};

}  // namespace kube
