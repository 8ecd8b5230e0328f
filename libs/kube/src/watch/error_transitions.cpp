#include "watch/error_transitions.hpp"

#include <utility>

namespace kube {
namespace {

// An API server that starts refuses requests until it has read its roles, for about a second.
constexpr int attempts_until_report = 3;

// A server that stops, restarts and warms up causes several errors in turn. All of them mean: wait.
std::string kind_of(const api::Error& trouble) {
    if (trouble.code == api::Errc::unavailable) return "unavailable";
    return std::string(api::to_string(trouble.code)) + " " + std::to_string(trouble.http_status) + " " +
           trouble.reason;
}

}  // namespace

ErrorTransitions::Transition ErrorTransitions::note(const api::Error* trouble) {
    if (!trouble) {
        others_ = 0;
        in_trouble_ = false;
        return std::exchange(reported_, "").empty() ? Transition::none : Transition::over;
    }
    std::string kind = kind_of(*trouble);
    if (in_trouble_) {
        if (kind == reported_) {
            others_ = 0;
            return Transition::none;
        }
        others_ = kind == other_ ? others_ + 1 : 1;
        other_ = kind;
        if (others_ < attempts_until_report) return Transition::none;
    }
    in_trouble_ = true;
    others_ = 0;
    reported_ = std::move(kind);
    return Transition::trouble;
}

}  // namespace kube
