#pragma once
#include <string>
#include <string_view>

namespace api {

/// One error of an object in the words of an API server: a cause of a Status. FieldError is the typed form,
/// for rules of our own.
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
