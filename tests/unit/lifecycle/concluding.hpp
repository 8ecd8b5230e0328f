#pragma once
#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

/// Decides and concludes, some time after the start of the job.
inline Conclusion conclude_after(const Observed& observed, std::chrono::seconds elapsed,
                                 const Outcome& outcome = {}, const Options& options = {}) {
    return conclude(observed, decide(observed, start + elapsed), outcome, start + elapsed, options);
}

inline const api::Error lost_connection = {.code = api::Errc::unavailable, .message = "connection reset"};

inline Outcome build_failed() {
    return {.result = BuildFailed{api::invalid("spec.trainer.numNodes", "must not be 3")}};
}
inline Outcome refused(api::Error error) {
    return {.result = WriteFailed{"JobSet default/job", std::move(error)}};
}
inline Outcome refused(api::Error error, Write write) {
    return {.result = WriteFailed{"JobSet default/job", std::move(error), write}};
}

inline const api::Condition& get(const Conclusion& conclusion, std::string_view type) {
    const api::Condition* found = api::find_condition(conclusion.conditions, type);
    REQUIRE(found);
    return *found;
}

}  // namespace lifecycle
