#pragma once
#include <optional>
#include <string>

#include "api/error.hpp"

namespace kube {

/// Decides which failures of a loop to report: the first one, the first of another kind once it has lasted,
/// and the end of the failures.
class ErrorTransitions {
public:
    enum class Transition { none, failing, over };

    /// `report_first_success`: also report the first success if there was no failure before.
    explicit ErrorTransitions(bool report_first_success)
        : reported_(report_first_success ? "starting" : "") {}

    /// Call it once per attempt; nullptr means success.
    Transition note(const api::Error* error);

private:
    std::string reported_;  // the kind of error reported last; empty: none
    bool is_failing_ = false;
    std::string other_;  // another kind of error since then
    int others_ = 0;     // how often in a row
};

}  // namespace kube
