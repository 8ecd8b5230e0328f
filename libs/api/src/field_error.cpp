#include "api/field_error.hpp"

#include <algorithm>
#include <utility>

#include "api/text.hpp"

namespace api {
namespace {

std::string_view title(FieldErrorType type) {
    switch (type) {
        case FieldErrorType::required: return "Required value";
        case FieldErrorType::invalid: return "Invalid value";
        case FieldErrorType::not_supported: return "Unsupported value";
        case FieldErrorType::forbidden: return "Forbidden";
        case FieldErrorType::duplicate: return "Duplicate value";
        case FieldErrorType::internal: break;
    }
    return "Internal error";
}

bool shows_value(FieldErrorType type) {
    return type == FieldErrorType::invalid || type == FieldErrorType::not_supported ||
           type == FieldErrorType::duplicate;
}

// Longer than any name, and short enough to read.
constexpr std::size_t most_shown_characters = 256;
// The limit of a list or an object as JSON.
constexpr std::size_t most_shown_json = 4096;
constexpr std::size_t longest_detail = 4096;

// Paths may contain keys of users' maps.
constexpr std::size_t longest_field = 1024;
constexpr std::size_t most_errors = 100;
constexpr std::size_t most_text = 32 * 1024;

std::string shortened(std::string_view text, std::size_t characters) {
    const std::string_view beginning = first_characters(text, characters);
    return std::string(beginning) + (beginning == text ? "" : "...");
}

// Returns the value as JSON; of a long text the beginning.
std::string shown(const Json& value) {
    return to_json(value.is_string() ? Json(shortened(value.as_string(), most_shown_characters)) : value);
}

// Cuts an error to the part that is shown.
FieldError cut(FieldError error) {
    error.field = shortened(error.field, longest_field);
    error.detail = shortened(error.detail, longest_detail);
    if (error.value.is_string()) {
        error.value = shortened(error.value.as_string(), most_shown_characters);
    } else if (error.value.is_array() || error.value.is_object()) {
        if (std::string text = to_json(error.value); text.size() > most_shown_json)
            error.value = shortened(text, most_shown_characters);
    }
    return error;
}

bool reads_as(const FieldError& left, const FieldError& right) {
    return left.field == right.field && left.type == right.type && left.detail == right.detail &&
           left.value == right.value && left.supported == right.supported;
}

std::string supported_values(const std::vector<std::string>& supported) {
    std::string text = "supported values: ";
    for (const std::string& value : supported) {
        if (&value != &supported.front()) text += ", ";
        text += to_json(value);
    }
    return text;
}

std::string line(const FieldError& error) {
    return error.field.empty() ? body(error) : error.field + ": " + body(error);
}

}  // namespace

std::string_view cause_reason(FieldErrorType type) {
    switch (type) {
        case FieldErrorType::required: return "FieldValueRequired";
        case FieldErrorType::invalid: return "FieldValueInvalid";
        case FieldErrorType::not_supported: return "FieldValueNotSupported";
        case FieldErrorType::forbidden: return "FieldValueForbidden";
        case FieldErrorType::duplicate: return "FieldValueDuplicate";
        case FieldErrorType::internal: break;
    }
    return "InternalError";
}

std::string body(const FieldError& error) {
    std::string text(title(error.type));
    const auto add = [&](const std::string& part) {
        if (!part.empty()) text += ": " + part;
    };
    if (shows_value(error.type)) add(shown(error.value));
    if (error.type == FieldErrorType::not_supported && !error.supported.empty())
        add(supported_values(error.supported));
    add(error.detail);
    return text;
}

FieldErrors::FieldErrors(std::initializer_list<FieldError> errors) {
    for (const FieldError& error : errors) push_back(error);
}

void FieldErrors::push_back(FieldError error) {
    if (more_ > 0) {
        ++more_;
        return;
    }
    error = cut(std::move(error));
    if (std::any_of(kept_.begin(), kept_.end(),
                    [&](const FieldError& kept) { return reads_as(kept, error); }))
        return;
    if (kept_.size() == most_errors)
        ++more_;
    else
        kept_.push_back(std::move(error));
}

void FieldErrors::append(FieldErrors errors) {
    for (FieldError& error : errors) push_back(std::move(error));
    more_ += errors.more_;
}

FieldErrorExcerpt excerpt(FieldErrors errors) {
    FieldErrorExcerpt found;
    std::size_t omit = errors.more();
    for (FieldError& error : errors) {
        const std::string text = line(error);
        const bool full = omit > errors.more() || found.text.size() + text.size() > most_text;
        if (full && !found.errors.empty()) {
            ++omit;
            continue;
        }
        if (!found.errors.empty()) found.text += ", ";
        found.text += text;
        found.errors.push_back(std::move(error));
    }
    if (found.errors.size() > 1) found.text = "[" + found.text + "]";
    if (omit > 0) found.text += " and " + std::to_string(omit) + " more";
    return found;
}

std::string describe(const FieldErrors& errors) { return excerpt(errors).text; }

}  // namespace api
