#include "api/pod.hpp"

#include <algorithm>

#include "api/names.hpp"

namespace api {

std::string_view job_set_uid_of(const Json& pod) {
    const Json& metadata = pod["metadata"];
    const bool of_a_job = std::ranges::any_of(metadata["ownerReferences"].items(), [](const Json& owner) {
        return owner["controller"].bool_or(false) && owner["kind"].as_string() == "Job" &&
               owner["apiVersion"].as_string() == "batch/v1";
    });
    return of_a_job ? metadata["labels"][job_set_uid_label].as_string() : std::string_view();
}

}  // namespace api
