#include "admission/validation_context.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

void deadline_is_immutable(const ValidationContext& review, FieldErrors& errors) {
    if (review.is_create()) return;
    const Json& now = review.job.spec["activeDeadlineSeconds"];
    const Json& before = review.old_job->spec["activeDeadlineSeconds"];
    if (now == before) return;
    errors.push_back({FieldErrorType::invalid,
                      "spec.activeDeadlineSeconds",
                      now,
                      before.is_null() ? "cannot be added later: field is immutable"
                      : now.is_null()  ? "cannot be removed: field is immutable"
                                       : "field is immutable",
                      {}});
}

constexpr Check checks[] = {
    {Rule::deadline_immutable, deadline_is_immutable, Wants::job, true},
};

}  // namespace

constinit const std::span<const Check> deadline_checks = checks;

}  // namespace runtime
