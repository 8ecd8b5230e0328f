#include "watch/error_transitions.hpp"

#include <utility>

namespace kube {
namespace {

// An API server that starts refuses requests until it has read its roles, for about a second.
constexpr int attempts_until_report = 3;

// A server that stops, restarts and warms up causes several errors in turn. All of them mean: wait.
std::string kind_of(const api::Error& error) {
    if (error.code == api::Errc::unavailable) return "unavailable";
    return std::string(api::to_string(error.code)) + " " + std::to_string(error.http_status) + " " +
           error.reason;
}

}  // namespace

ErrorTransitions::Transition ErrorTransitions::note(const api::Error* error) {
    if (!error) {
        others_ = 0;
        is_failing_ = false;
        return std::exchange(reported_, "").empty() ? Transition::none : Transition::over;
    }
    std::string kind = kind_of(*error);
    if (is_failing_) {
        if (kind == reported_) {
            others_ = 0;
            return Transition::none;
        }
        others_ = kind == other_ ? others_ + 1 : 1;
        other_ = kind;
        if (others_ < attempts_until_report) return Transition::none;
    }
    is_failing_ = true;
    others_ = 0;
    reported_ = std::move(kind);
    return Transition::failing;
}

}  // namespace kube
