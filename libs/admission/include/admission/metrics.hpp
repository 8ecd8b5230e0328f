#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "admission/observer.hpp"
#include "net/process/metrics.hpp"

namespace admission {

/// Counts requests by path, verdict and code, and their durations. These series exist from the start. Others
/// are labelled with the names of rules, so that no input can add one. Thread rule: any thread.
class ReviewMetrics final : public ReviewObserver {
public:
    explicit ReviewMetrics(net::Metrics& metrics);

    void ended(const Route* route, Outcome outcome, double seconds) override;
    void refused(Outcome outcome) override { of(nullptr).outcomes[static_cast<std::size_t>(outcome)].add(); }
    /// Counts the errors of a denial by type and by rule, warnings once for each of their rules, and restored
    /// fields.
    void judged(const Route& route, const api::Verdict& verdict) override;

private:
    static constexpr std::size_t cause_count = 6;
    struct Series {
        std::array<net::Counter, outcome_count> outcomes = {};
        std::array<net::Counter, cause_count> causes = {};
        net::Histogram seconds = {};
    };
    Series& of(const Route* route);
    void count_rules(const char* name, const char* help, const Route& route,
                     const std::vector<api::RuleId>& rules);

    net::Metrics& metrics_;
    std::map<api::RestoredField, net::Counter> restored_;
    std::vector<Series> series_;  // one per route, and one for all other paths
};

}  // namespace admission
