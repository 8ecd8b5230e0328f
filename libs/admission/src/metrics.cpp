#include "admission/metrics.hpp"

#include <algorithm>

#include "runtime/validation.hpp"

namespace admission {
namespace {

struct Row {
    Outcome outcome;
    std::string verdict;
    std::string code;  // of the verdict; without one, of HTTP
};

const std::array<Row, outcome_count>& rows() {
    static const std::array<Row, outcome_count> table = {{{Outcome::allowed, "allowed", "200"},
                                                          {Outcome::patched, "patched", "200"},
                                                          {Outcome::invalid, "denied", "422"},
                                                          {Outcome::bad, "denied", "400"},
                                                          {Outcome::unavailable, "denied", "503"},
                                                          {Outcome::not_a_review, "none", "400"},
                                                          {Outcome::wrong_media_type, "none", "415"},
                                                          {Outcome::wrong_method, "none", "405"},
                                                          {Outcome::no_route, "none", "404"},
                                                          {Outcome::failed, "none", "500"},
                                                          {Outcome::too_large, "none", "413"},
                                                          {Outcome::overloaded, "none", "503"},
                                                          {Outcome::unauthorized, "none", "401"},
                                                          {Outcome::forbidden, "none", "403"},
                                                          {Outcome::unchecked, "none", "503"}}};
    return table;
}

// The bounds of durations in seconds: from cached inputs to the longest time limit.
const std::vector<double> bounds = {0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                    0.005,    0.01,    0.025,  0.05,    0.1,    0.25,  0.5,
                                    1,        2.5,     5,      10,      30};

std::size_t index(auto value) { return static_cast<std::size_t>(value); }

// Outcomes before the path is known.
bool is_before_routing(Outcome outcome) {
    return outcome == Outcome::no_route || outcome >= Outcome::too_large;
}

// Returns each rule once, in order.
template <class List, class Rule>
std::vector<api::RuleId> rules_of(const List& list, Rule rule) {
    std::vector<api::RuleId> rules;
    for (const auto& each : list)
        if (std::ranges::find(rules, rule(each)) == rules.end()) rules.push_back(rule(each));
    return rules;
}

}  // namespace

ReviewMetrics::ReviewMetrics(net::Metrics& metrics) : metrics_(metrics), series_(routes().size() + 1) {
    const auto add = [&](const api::RestoredField& of) {
        restored_[of] = metrics.counter("signalbox_admission_fields_restored_total",
                                        "Fields of TrainJobs that writers had lost and were put back.",
                                        {{"field", std::string(of.field)}, {"cause", std::string(of.cause)}});
    };
    for (const std::string_view field : runtime::restored_fields)
        add({.field = field, .cause = "typed_client"});
    add({.field = "runtimePatches", .cause = "reapply"});
    for (std::size_t i = 0; i < series_.size(); ++i) {
        const bool known = i < routes().size();
        const std::string path = known ? std::string(routes()[i].path) : "other";
        Series& series = series_[i];
        for (const Row& row : rows()) {
            if (known == is_before_routing(row.outcome)) continue;
            series.outcomes[index(row.outcome)] =
                metrics.counter("signalbox_admission_requests_total", "Requests to the webhook.",
                                {{"path", path}, {"verdict", row.verdict}, {"code", row.code}});
        }
        if (!known) continue;
        series.seconds = metrics.histogram("signalbox_admission_duration_seconds",
                                           "From the whole request to its answer, lookups included.", bounds,
                                           {{"path", path}});
        for (std::size_t type = 0; type < cause_count; ++type)
            series.causes[type] = metrics.counter(
                "signalbox_admission_causes_total", "What denied objects were denied for.",
                {{"path", path},
                 {"reason", std::string(api::cause_reason(static_cast<api::FieldErrorType>(type)))}});
    }
}

ReviewMetrics::Series& ReviewMetrics::of(const Route* route) {
    return series_[route ? index(route - routes().data()) : routes().size()];
}

void ReviewMetrics::ended(const Route* route, Outcome outcome, double seconds) {
    Series& series = of(route);
    series.outcomes[index(outcome)].add();
    series.seconds.observe(seconds);
}

void ReviewMetrics::judged(const Route& route, const api::Verdict& verdict) {
    if (verdict.denial) {
        const api::FieldErrors& causes = verdict.denial->causes;
        for (const api::FieldError& cause : causes) of(&route).causes[index(cause.type)].add();
        count_rules("signalbox_admission_rejections_total",
                    "Denied reviews by the rule that their object breaks, once for each of several.", route,
                    rules_of(causes, [](const auto& cause) { return cause.rule; }));
    }
    count_rules("signalbox_admission_warnings_total",
                "Reviews that warned, by the rule of the warning, once for each of several.", route,
                rules_of(verdict.warnings, [](const auto& warning) { return warning.rule; }));
    for (const api::RestoredField& each : verdict.restored) restored_.at(each).add();
}

// Finds counters by name: denials are rare, and only plugins know their rules.
void ReviewMetrics::count_rules(const char* name, const char* help, const Route& route,
                                const std::vector<api::RuleId>& rules) {
    for (const api::RuleId& rule : rules)
        metrics_.counter(name, help, {{"path", std::string(route.path)}, {"rule", std::string(rule.name())}})
            .add();
}

}  // namespace admission
