#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/warnings.hpp"

namespace api {

/// admission.k8s.io/v1 AdmissionReview.request, as far as a verdict depends on it.
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
    Json old_object = {};            ///< null on CREATE; likewise
};

/// Fails with `invalid` when the bytes are no v1 AdmissionReview with a request and a uid: then no verdict
/// can be given.
Result<AdmissionRequest> decode_admission_review(std::string_view body);

/// metav1.Status of a denial.
struct Denial {
    int code = 422;
    std::string reason = "Invalid";
    std::string message = {};
    FieldErrors causes = {};
};

/// What admission says. Neither a denial nor a patch: allowed as it is.
struct Verdict {
    std::optional<Denial> denial = {};
    std::vector<Json> patch = {};  ///< RFC 6902 operations; mutating webhooks only
    Warnings warnings = {};
    /// Of each field that `patch` puts back, what had lost it, for metrics: literals.
    std::vector<std::string_view> restored = {};

    bool allowed() const { return !denial; }
};

Verdict allowed();
/// 400 BadRequest: the request makes no sense.
Verdict bad_request(std::string message);
/// 503 ServiceUnavailable: a lookup failed, so there is no verdict.
Verdict unavailable(std::string message);
/// 422 Invalid with one cause per error; allowed when there is none.
Verdict validated(const AdmissionRequest& request, FieldErrors errors);

/// The AdmissionReview to answer with, as JSON text.
std::string encode_admission_review(const AdmissionRequest& request, const Verdict& verdict);

}  // namespace api
