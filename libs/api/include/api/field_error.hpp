#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/rule_id.hpp"

namespace api {

/// The types of field errors in Kubernetes' clients (apimachinery's field.ErrorType).
enum class FieldErrorType { required, invalid, not_supported, forbidden, duplicate, internal };

/// One error of one field of an object.
struct FieldError {
    FieldErrorType type = FieldErrorType::invalid;
    std::string field = {};   ///< e.g. "spec.trainer.env[3].name"
    Json value = {};          ///< shown for invalid, not_supported and duplicate; keep it short
    std::string detail = {};  ///< the rule
    std::vector<std::string> supported = {};  ///< for not_supported
    RuleId rule = {};                         ///< the broken rule

    bool operator==(const FieldError&) const = default;
};

/// Errors in the order in which they were found: the first 100 different ones, and the number of the others.
/// A request of a megabyte can break a rule a hundred thousand times, each time with a long text. An answer
/// has no room for so many, so long fields, values and details are cut.
class FieldErrors {
public:
    using Kept = std::vector<FieldError>;

    FieldErrors() = default;
    FieldErrors(std::initializer_list<FieldError> errors);

    /// Adds an error. One that is stored already is not counted again.
    void push_back(FieldError error);
    void append(FieldErrors errors);
    /// Counts errors that are not stored.
    void leave_out(std::size_t count) { more_ += count; }

    bool empty() const { return kept_.empty(); }
    std::size_t size() const { return kept_.size(); }  ///< number of stored errors
    std::size_t more() const { return more_; }         ///< number of errors that are not stored
    Kept::const_iterator begin() const { return kept_.begin(); }
    Kept::const_iterator end() const { return kept_.end(); }
    Kept::iterator begin() { return kept_.begin(); }
    Kept::iterator end() { return kept_.end(); }
    const FieldError& operator[](std::size_t index) const { return kept_[index]; }
    FieldError& operator[](std::size_t index) { return kept_[index]; }
    const FieldError& front() const { return kept_.front(); }
    FieldError& front() { return kept_.front(); }

    bool operator==(const FieldErrors&) const = default;

private:
    Kept kept_ = {};
    std::size_t more_ = 0;
};

/// Returns "FieldValueInvalid" and so on: the reason of a Status cause.
std::string_view cause_reason(FieldErrorType type);

/// Returns `Invalid value: "x": must be ...`: the message of a Status cause.
std::string body(const FieldError& error);

/// The part of many errors that fits into an answer (32 KiB of text).
struct FieldErrorExcerpt {
    FieldErrors errors = {};
    std::string text = {};  ///< "field: body"; several as "[a, b]"; " and N more" if not all fit
};
FieldErrorExcerpt excerpt(FieldErrors errors);

/// Returns the text of an excerpt.
std::string describe(const FieldErrors& errors);

/// One error of an object in the words of an API server: a cause of a Status. FieldError is the typed form,
/// for the rules of this project.
struct StatusCause {
    std::string reason = {};   ///< "FieldValueTooLong"
    std::string field = {};    ///< "spec.trainer.numNodes"; `no_field` for the object itself
    std::string message = {};  ///< `Invalid value: 0: spec.trainer.numNodes in body should be …`
    std::string place = {};    ///< the field to look at, also if `field` names none

    bool operator==(const StatusCause&) const = default;
};

inline constexpr std::string_view no_field = "<nil>";

/// The cause of an error that names its field.
inline StatusCause cause_at(std::string field, std::string reason, std::string message) {
    std::string place = field;
    return {.reason = std::move(reason),
            .field = std::move(field),
            .message = std::move(message),
            .place = std::move(place)};
}

}  // namespace api
