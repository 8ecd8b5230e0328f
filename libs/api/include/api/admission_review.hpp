#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/warnings.hpp"

namespace api {

/// The fields of an AdmissionReview.request (admission.k8s.io/v1) that a verdict depends on.
struct AdmissionRequest {
    std::string uid = {};
    std::string group = {};
    std::string version = {};
    std::string kind = {};
    std::string sub_resource = {};
    std::string name = {};
    std::string ns = {};
    std::string operation = {};  ///< CREATE, UPDATE, DELETE or CONNECT
    bool dry_run = false;
    std::string username = {};
    std::string field_manager = {};  ///< of the request's options; empty for a DELETE
    Json object = {};                ///< null on DELETE; without `metadata.managedFields`
    Json old_object = {};            ///< null on CREATE; without `metadata.managedFields`
};

/// Decodes a review. Fails with `invalid` if the bytes are no v1 AdmissionReview with a request and a uid. No
/// verdict is possible then. `unread_on_create`: paths from the review's root to members of the objects that
/// the verdict of a CREATE does not depend on. They may be missing from the objects of a CREATE; any other
/// request has them.
Result<AdmissionRequest> decode_admission_review(std::string_view body, JsonPaths unread_on_create = {});

/// The metav1.Status of a denial.
struct Denial {
    int code = 422;
    std::string reason = "Invalid";
    std::string message = {};
    FieldErrors causes = {};
};

/// A field that a writer had lost, for metrics: literals.
struct RestoredField {
    std::string_view field = {};  ///< "trainer", "runtimePatches" (an entry), another member of `spec`
    std::string_view cause = {};  ///< of the loss: "typed_client" or "reapply"

    auto operator<=>(const RestoredField&) const = default;
};

/// The verdict of an admission review. Without a denial and a patch the object is allowed unchanged.
struct Verdict {
    std::optional<Denial> denial = {};
    std::vector<Json> patch = {};  ///< RFC 6902 operations; of mutating webhooks only
    Warnings warnings = {};
    std::vector<RestoredField> restored = {};  ///< what `patch` restores

    bool allowed() const { return !denial; }
};

Verdict allowed();
/// Returns a denial with 400 BadRequest, for an inconsistent request.
Verdict bad_request(std::string message);
/// Returns a denial with 503 ServiceUnavailable, for a lookup that failed.
Verdict unavailable(std::string message);
/// Returns a denial with 422 Invalid and one cause per error; allowed if there are no errors.
Verdict validated(const AdmissionRequest& request, FieldErrors errors);

/// Returns the AdmissionReview of the answer as JSON text.
std::string encode_admission_review(const AdmissionRequest& request, const Verdict& verdict);

}  // namespace api
