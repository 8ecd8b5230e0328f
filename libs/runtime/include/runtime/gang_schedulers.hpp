#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"

namespace runtime {

/// The schedulers of the Pods of gangs that name none; "": Kubernetes' default scheduler, as for any Pod.
/// Kubernetes' own gangs and YuniKorn's have theirs.
struct GangSchedulers {
    std::string coscheduling = {};
    std::string volcano = {};

    bool operator==(const GangSchedulers&) const = default;
};

/// The option --gang-schedulers of all programs: "coscheduling=gang-scheduler,volcano=volcano".
extern const char* const gang_schedulers_help;
api::Result<> read_option(std::string_view text, GangSchedulers& target);
std::string show_option(const GangSchedulers& schedulers);

}  // namespace runtime
