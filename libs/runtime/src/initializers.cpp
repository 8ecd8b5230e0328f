#include "api/names.hpp"
#include "edit.hpp"
#include "steps.hpp"

namespace runtime {
namespace {

using api::Json;

struct Step {
    std::string_view ancestor;  // also the name of its container
    std::string_view member;    // of spec.initializer
};

constexpr Step steps[] = {{api::ancestor_dataset_initializer, "dataset"},
                          {api::ancestor_model_initializer, "model"}};

void configure(Json& container, const Json& initializer) {
    // An empty URI is sent too: it overrides the runtime's.
    if (const Json& uri = initializer["storageUri"]; uri.is_string())
        upsert_env(container, env_value("STORAGE_URI", std::string(uri.as_string())));
    upsert_all_env(container, initializer["env"]);
    if (const Json& secret = initializer["secretRef"]; !secret.empty())
        container["envFrom"].push_back(Json::object({{"secretRef", secret}}));
}

}  // namespace

void configure_initializers(Info& info) {
    for (const auto& [ancestor, member] : steps) {
        const Json& initializer = info.job.spec["initializer"][member];
        if (!initializer.is_object()) continue;
        for (const PodSet& pods : info.pod_sets)
            if (pods.ancestor == ancestor)
                if (Json* container = info.container(pods, ancestor)) configure(*container, initializer);
    }
}

}  // namespace runtime
