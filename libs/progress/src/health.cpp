#include "progress/health.hpp"

#include "progress/availability.hpp"

namespace progress {

std::vector<std::string> Health::not_ready(kube::SteadyTime::duration silence) const {
    std::vector<std::string> reasons;
    if (!certificate_is_stored) reasons.emplace_back("no certificate for progress is stored yet");
    if (!certificate_is_valid) reasons.emplace_back("the certificate for progress has expired");
    if (silence > answers_last) reasons.emplace_back("the API server does not answer about progress");
    return reasons;
}

LeaseKeeper::State Health::lease_state(const Reports& reports) const {
    return {.available =
                reports.are_accepted && certificate_is_stored && certificate_is_valid && reports.writes_work,
            .reports_wait = reports.longest_wait > longest_available_wait};
}

}  // namespace progress
