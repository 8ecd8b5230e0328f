#include "template/added.hpp"

namespace runtime {

using api::Json;

Json restrictions_of(const Json& container) {
    const Json& own = container["securityContext"];
    Json taken = Json::object();
    for (const char* member :
         {"runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "seLinuxOptions"})
        if (!own[member].is_null()) taken[member] = own[member];
    for (const char* profile : {"seccompProfile", "appArmorProfile"})
        if (!own[profile].is_null() && own[profile]["type"] != "Unconfined") taken[profile] = own[profile];
    taken["allowPrivilegeEscalation"] = false;
    taken["capabilities"]["drop"] = Json::array({"ALL"});
    return taken;
}

Json compute_resources_of(const Json& container) {
    Json taken;
    for (const char* list : {"limits", "requests"})
        for (const char* name : {"cpu", "memory", "ephemeral-storage"})
            if (const Json& quantity = container["resources"][list][name]; !quantity.is_null())
                taken[list][name] = quantity;
    return taken;
}

bool may_be_root(const Json& pod_spec, const Json& container) {
    const Json& of_pod = pod_spec["securityContext"];
    const auto setting = [&](const char* member) -> const Json& {
        const Json& own = container["securityContext"][member];
        return own.is_null() ? of_pod[member] : own;
    };
    const Json& user = setting("runAsUser");
    return user.is_null() ? !setting("runAsNonRoot").bool_or(false) : user == Json(0);
}

std::int64_t readable_mode(const Json& pod_spec, const Json& container, std::int64_t mode) {
    const bool is_readable =
        !pod_spec["securityContext"]["fsGroup"].is_null() || may_be_root(pod_spec, container);
    return is_readable ? mode : 0444;
}

}  // namespace runtime
