#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "admission/routes.hpp"
#include "api/admission_review.hpp"
#include "net/process/metrics.hpp"

namespace admission {

/// How one request to the webhook ended.
enum class Outcome {
    allowed,
    patched,
    invalid,      ///< denied: the object breaks a rule
    bad,          ///< denied: the request makes no sense
    unavailable,  ///< denied: a lookup failed
    not_a_review,
    wrong_media_type,
    wrong_method,
    no_route,
    failed,      ///< an exception
    too_large,   ///< more values than a review may hold
    overloaded,  ///< no memory to spare
    unauthorized,
    forbidden,
    unchecked,  ///< the caller could not be checked
};
inline constexpr std::size_t outcome_count = 15;

Outcome outcome_of(const api::Verdict& verdict);

/// Counts requests by path, verdict and code, and how long they took. These series exist from the start, and
/// others are labelled by the names of rules: no input can add one. Thread rule: any thread.
class ReviewMetrics {
public:
    explicit ReviewMetrics(net::Metrics& metrics);

    /// `route` is nullptr where there was none.
    void count(const Route* route, Outcome outcome, double seconds);
    /// One that was turned away unread.
    void count_refused(Outcome outcome) { of(nullptr).outcomes[static_cast<std::size_t>(outcome)].add(); }
    /// What was wrong, by kind of error and by rule.
    void count_causes(const Route& route, const api::FieldErrors& causes);
    /// Once for each of their rules.
    void count_warnings(const Route& route, const api::Warnings& warnings);
    /// api::Verdict::restored.
    void count_restored(const std::vector<std::string_view>& causes);

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
    std::map<std::string_view, net::Counter> restored_;
    std::vector<Series> series_;  // one per route, and one for all other paths
};

}  // namespace admission
