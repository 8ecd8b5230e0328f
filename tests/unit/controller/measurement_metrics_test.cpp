#include "controller/reconcile/measurement_metrics.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

using controller::MeasurementMetrics;
using lifecycle::End;
using lifecycle::Measurements;
using lifecycle::TtlFrom;
using lifecycle::TtlHeld;
using namespace std::chrono_literals;

namespace {

// Returns the series whose values one reconcile changes, of histograms the sums, as "name{labels} value".
std::set<std::string> changed_by(const Measurements& made) {
    net::Metrics metrics;
    MeasurementMetrics counted(metrics);
    counted.count(made);
    std::set<std::string> changed;
    std::istringstream text(metrics.expose());
    for (std::string line; std::getline(text, line);) {
        const bool is_part_of_histogram =
            line.find("_bucket{") != line.npos || line.find("_count") != line.npos;
        if (line.starts_with("signalbox_") && !line.ends_with(" 0") && !is_part_of_histogram)
            changed.insert(line);
    }
    return changed;
}

}  // namespace

TEST_CASE("each measurement of a reconcile is added to its series", "[controller]") {
    struct Row {
        Measurements made;
        std::set<std::string> changed;
    };
    const Row rows[] = {
        {{}, {}},
        {{.to_job_set = 3s}, {"signalbox_time_to_job_set_seconds_sum 3"}},
        {{.to_terminal = 4s}, {"signalbox_time_to_terminal_seconds_sum 4"}},
        {{.deadline_late = 5s}, {"signalbox_deadline_lateness_seconds_sum 5"}},
        {{.ttl_late = 6s}, {"signalbox_ttl_lateness_seconds_sum 6"}},
        {{.wait = 7s}, {"signalbox_wait_seconds_sum 7"}},
        {{.restarted = {.all = 5, .counted = 2}},
         {"signalbox_restarts_total{counted=\"true\",reason=\"job_set\"} 2",
          "signalbox_restarts_total{counted=\"false\",reason=\"job_set\"} 3"}},
        {{.restarted = {.all = 1, .counted = 1}, .restart_cause = lifecycle::RestartCause::hang},
         {"signalbox_restarts_total{counted=\"true\",reason=\"hang\"} 1"}},
        {{.restarted = {.all = 1}, .restart_cause = lifecycle::RestartCause::infrastructure},
         {"signalbox_restarts_total{counted=\"false\",reason=\"infrastructure\"} 1"}},
        {{.expired = TtlFrom::train_job}, {"signalbox_ttl_deletions_total{from=\"train_job\"} 1"}},
        {{.expired = TtlFrom::runtime}, {"signalbox_ttl_deletions_total{from=\"runtime\"} 1"}},
        {{.held = TtlHeld::multikueue}, {"signalbox_ttl_held_total{why=\"multikueue\"} 1"}},
        {{.held = TtlHeld::live}, {"signalbox_ttl_held_total{why=\"live\"} 1"}},
        {{.excludes_node = true}, {"signalbox_nodes_excluded_total 1"}},
        {{.attempt_end = lifecycle::AttemptEnd::restarted, .attempt = 8s},
         {"signalbox_attempt_seconds_sum{end=\"restarted\"} 8"}},
        {{.attempt_end = lifecycle::AttemptEnd::failed, .attempt = 9s},
         {"signalbox_attempt_seconds_sum{end=\"failed\"} 9"}},
        {{.clean_up_failed = true}, {"signalbox_clean_up_failures_total 1"}},
        {{.lease_is_ahead = true}, {"signalbox_progress_lease_ahead_total 1"}},
        {{.lease_is_ahead = false}, {}},
    };
    for (const Row& row : rows) CHECK(changed_by(row.made) == row.changed);
}

TEST_CASE("the end of a job and its duration are counted by how it ended", "[controller]") {
    const std::pair<End, std::string> ends[] = {{End::complete, "complete"},
                                                {End::failed, "failed"},
                                                {End::deadline, "deadline"},
                                                {End::unsupported_runtime, "unsupported_runtime"},
                                                {End::progress_deadline, "progress_deadline"}};
    for (const auto& [end, name] : ends) {
        const std::string labels = "{end=\"" + name + "\"} ";
        const std::string ended = "signalbox_train_jobs_ended_total" + labels + "1";
        CHECK(changed_by({.end = end}) == std::set<std::string>{ended});
        CHECK(changed_by({.run = 60s, .end = end}) ==
              std::set<std::string>{ended, "signalbox_run_seconds_sum" + labels + "60"});
    }
}
