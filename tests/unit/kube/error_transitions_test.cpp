#include "watch/error_transitions.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "support/fake_api_server.hpp"

using api::Errc;

namespace {

// Returns the reports for a row of attempts: r(efused connection), w(arming up), f(orbidden), . (success).
std::string reported(bool report_first_success, const std::string& attempts) {
    kube::ErrorTransitions transitions(report_first_success);
    std::string all;
    for (const char attempt : attempts) {
        const api::Error error = attempt == 'f'   ? refusal(403, Errc::forbidden)
                                 : attempt == 'w' ? refusal(429, Errc::unavailable)
                                                  : refusal(0, Errc::unavailable);
        switch (transitions.note(attempt == '.' ? nullptr : &error)) {
            case kube::ErrorTransitions::Transition::none: all += ' '; break;
            case kube::ErrorTransitions::Transition::failing: all += attempt; break;
            case kube::ErrorTransitions::Transition::over: all += '.'; break;
        }
    }
    return all;
}

}  // namespace

TEST_CASE("a failure and its end are reported once", "[kube]") {
    CHECK(reported(false, "..rrr..r.") == "  r  . r.");
    CHECK(reported(true, "..rrr..") == ". r  . ");
    CHECK(reported(true, "rr.") == "r .");
}

TEST_CASE("all transient errors count as one kind", "[kube]") { CHECK(reported(false, "rwrw.") == "r   ."); }

TEST_CASE("another kind of failure is reported once it has lasted", "[kube]") {
    CHECK(reported(false, "rrfw.") == "r   .");
    CHECK(reported(false, "rrffwff.") == "r      .");
    CHECK(reported(false, "rrffff.f") == "r   f .f");
}
