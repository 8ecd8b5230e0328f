#pragma once
#include <map>
#include <string>

#include "kube/client/api_server.hpp"

namespace controller {

/// The API server as one pass reads it: counts what the answers weigh, since what tenants store where no
/// watch looks (snapshots, Secrets, PodGroups, LimitRanges) may be as large as etcd takes it, and a pass
/// holds trees of it. Thread rule: as that server.
class MeteredReads final : public kube::ApiServer {
public:
    /// What all answers that one pass reads may weigh at most, whatever it was allowed; more is `too_large`.
    static constexpr std::size_t most = 16 * 1024 * 1024;

    /// Thrown by send(): the answer weighs more than the pass was allowed. It has not been kept.
    struct Exceeded {};

    MeteredReads(kube::ApiServer& server, std::size_t allowed) : server_(server), allowed_(allowed) {}

    kube::Async<kube::Response> send(kube::Request request) override;
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
        return server_.watch(std::move(request));
    }

    /// In bytes; of an object that was read twice the larger answer counts.
    std::size_t weight() const { return weight_; }

private:
    kube::Async<kube::Response> read(kube::Request request);

    kube::ApiServer& server_;
    const std::size_t allowed_;
    std::size_t weight_ = 0;
    std::map<std::string, std::size_t> weights_ = {};  // by target
};

}  // namespace controller
