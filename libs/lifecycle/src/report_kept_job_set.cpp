#include "reports.hpp"

namespace lifecycle {

void report_kept_job_set(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                         const Outcome& outcome) {
    conclusion.retry_state.kept_reported = observed.retry_state.kept_reported;
    const auto* run = std::get_if<Run>(&decision);
    if (!run || !std::holds_alternative<Done>(outcome.result)) return;
    conclusion.retry_state.kept_reported = outcome.kept.has_value();
    if (!outcome.kept || observed.retry_state.kept_reported) return;
    const std::string differs = run->verifies ? "The JobSet was created from what has been corrected since: "
                                              : "The JobSet runs with another number of nodes than "
                                                "spec.trainer.numNodes: ";
    conclusion.events.push_back(warning_event(event_reason::job_set_kept, differs + outcome.kept->why));
}

}  // namespace lifecycle
