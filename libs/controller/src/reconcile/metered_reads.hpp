#pragma once
#include <map>
#include <string>

#include "kube/client/api_server.hpp"

namespace controller {

/// Forwards the reads of one reconcile and adds up the size of the responses. A reconcile holds trees of
/// objects that tenants store and no watch cuts (snapshots, Secrets, PodGroups, LimitRanges), each as large
/// as etcd stores. Thread rule: as that server.
class MeteredReads final : public kube::ApiServer {
public:
    /// The limit of the sum, whatever was allowed; more is `too_large`.
    static constexpr std::size_t most = 16 * 1024 * 1024;

    /// Thrown by send() for a response above what was allowed. The response is dropped.
    struct Exceeded {};

    MeteredReads(kube::ApiServer& server, std::size_t allowed) : server_(server), allowed_(allowed) {}

    kube::Async<kube::Response> send(kube::Request request) override;
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
        return server_.watch(std::move(request));
    }

    /// Returns the sum in bytes. Of an object that was read twice the larger answer counts.
    std::size_t weight() const { return weight_; }

private:
    kube::Async<kube::Response> read(kube::Request request);

    kube::ApiServer& server_;
    const std::size_t allowed_;
    std::size_t weight_ = 0;
    std::map<std::string, std::size_t> weights_ = {};  // by target
};

}  // namespace controller
