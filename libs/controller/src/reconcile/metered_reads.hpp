#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kube/client/api_server.hpp"
#include "kube/client/server_clock.hpp"

namespace controller {

/// Forwards the reads of one reconcile, adds up the size of the responses, and compares their dates with the
/// clock. A reconcile holds trees of objects that tenants store and no watch cuts (snapshots, Secrets,
/// PodGroups, LimitRanges), each as large as etcd stores. Thread rule: as that server.
class MeteredReads final : public kube::ApiServer {
public:
    /// The limit of the sum, whatever was allowed; more is `too_large`.
    static constexpr std::size_t most = 16 * 1024 * 1024;

    using Now = std::function<kube::ServerTime()>;

    MeteredReads(kube::ApiServer& server, std::size_t allowed, Now now)
        : server_(server), allowed_(allowed), now_(std::move(now)) {}

    /// Fails with `too_large` from the first response above what was allowed, also for writes: the reconcile
    /// is to begin again with more.
    kube::Async<kube::Response> send(kube::Request request) override;
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
        return server_.watch(std::move(request));
    }

    /// Returns the sum in bytes. Of an object that was read twice the larger answer counts.
    std::size_t weight() const { return weight_; }

    /// Returns whether a response was above what was allowed, and below `most`. It was dropped.
    bool is_exceeded() const { return is_exceeded_; }

    /// Returns the latest time that the clock and each response allow: of servers whose clocks differ by
    /// what is tolerated, the earliest counts. Uncertain if a response had no date or an earlier one: such a
    /// date says nothing about the time.
    kube::ServerTime time() const;

private:
    kube::Async<kube::Response> read(kube::Request request);

    void compare(const std::optional<api::Time>& date);

    kube::ApiServer& server_;
    const std::size_t allowed_;
    const Now now_;
    std::chrono::seconds ahead_{0};  // of the clock, compared with the earliest date that agrees
    bool is_contradicted_ = false;
    bool is_exceeded_ = false;
    std::size_t weight_ = 0;
    std::map<std::string, std::size_t> weights_ = {};  // by target
};

}  // namespace controller
