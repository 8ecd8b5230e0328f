#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace api {

/// The kinds of field errors that Kubernetes' clients know (apimachinery's field.ErrorType).
enum class FieldErrorType { required, invalid, not_supported, forbidden, duplicate, internal };

/// One thing that is wrong with one field of an object.
struct FieldError {
    FieldErrorType type = FieldErrorType::invalid;
    std::string field = {};   ///< e.g. "spec.trainer.env[3].name"
    Json value = {};          ///< shown for invalid, not_supported and duplicate; keep it short
    std::string detail = {};  ///< says what the rule is
    std::vector<std::string> supported = {};  ///< for not_supported
    std::string_view rule = {};               ///< which rule it breaks, such as "J7"; a literal, for metrics

    bool operator==(const FieldError&) const = default;
};

using FieldErrors = std::vector<FieldError>;

/// "FieldValueInvalid" and so on: the reason of a Status cause.
std::string_view cause_reason(FieldErrorType type);

/// `Invalid value: "x": must be ...`: the message of a Status cause.
std::string body(const FieldError& error);

/// What people read of many errors: those that differ, in their order, as far as an answer has room for them
/// (100, and 32 KiB of text). A request of a megabyte can break a rule a hundred thousand times.
struct FieldErrorExcerpt {
    FieldErrors errors = {};
    std::string text =
        {};  ///< "field: body"; several as "[a, b]"; " and N more" if there was no room for all
};
FieldErrorExcerpt excerpt(FieldErrors errors);

/// The text of an excerpt.
std::string describe(const FieldErrors& errors);

}  // namespace api
