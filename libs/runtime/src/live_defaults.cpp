#include "runtime/live_defaults.hpp"

#include "runtime/compare.hpp"

namespace runtime {
namespace {

// Of JobSet 0.12: those with the rule "self == oldSelf". `replicatedJobs` may change in part, and is merged
// item by item.
constexpr const char* immutable_fields[] = {"failurePolicy", "network", "startupPolicy", "successPolicy",
                                            "volumeClaimPolicies"};

}  // namespace

api::Json with_live_defaults(api::Json wanted, const api::Json& live) {
    api::Json* spec = wanted.find("spec");
    for (const char* name : immutable_fields) {
        api::Json* field = spec ? spec->find(name) : nullptr;
        const api::Json* stored = live["spec"].find(name);
        if (field && stored && is_contained(*field, *stored)) *field = *stored;
    }
    return wanted;
}

}  // namespace runtime
