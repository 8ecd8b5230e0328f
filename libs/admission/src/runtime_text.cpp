#include "admission/runtime_text.hpp"

#include "admission/limiter.hpp"

namespace admission {
namespace {

constexpr std::string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";

}  // namespace

RuntimeTextPtr make_runtime_text(api::Json runtime) {
    if (api::Json* metadata = runtime.find("metadata")) {
        metadata->erase("managedFields");
        if (api::Json* annotations = metadata->find("annotations")) annotations->erase(last_applied);
    }
    RuntimeText text = {.json = api::to_json(runtime)};
    text.values = count_values(text.json);
    if (text.is_too_large()) text.json.clear();
    text.json.shrink_to_fit();
    return std::make_shared<const RuntimeText>(std::move(text));
}

}  // namespace admission
