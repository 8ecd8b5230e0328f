#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "admission/routes.hpp"
#include "api/admission_review.hpp"
#include "net/process/metrics.hpp"

namespace admission {

/// The outcome of one request to the webhook.
enum class Outcome {
    allowed,
    patched,
    invalid,      ///< denied: the object breaks a rule
    bad,          ///< denied: the request is inconsistent
    unavailable,  ///< denied: a lookup failed
    not_a_review,
    wrong_media_type,
    wrong_method,
    no_route,
    failed,      ///< an exception
    too_large,   ///< more values than a review may have
    overloaded,  ///< no memory left
    unauthorized,
    forbidden,
    unchecked,  ///< the caller could not be checked
};
inline constexpr std::size_t outcome_count = 15;

Outcome outcome_of(const api::Verdict& verdict);

/// Counts requests by path, verdict and code, and their durations. These series exist from the start. Others
/// are labelled with the names of rules, so that no input can add one. Thread rule: any thread.
class ReviewMetrics {
public:
    explicit ReviewMetrics(net::Metrics& metrics);

    /// `route` is nullptr for an unknown path.
    void count(const Route* route, Outcome outcome, double seconds);
    /// Counts a request that was refused unread.
    void count_refused(Outcome outcome) { of(nullptr).outcomes[static_cast<std::size_t>(outcome)].add(); }
    /// Counts the errors of a denial, by type and by rule.
    void count_causes(const Route& route, const api::FieldErrors& causes);
    /// Counts warnings, once for each of their rules.
    void count_warnings(const Route& route, const api::Warnings& warnings);
    /// Counts api::Verdict::restored.
    void count_restored(const std::vector<api::RestoredField>& fields);

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
