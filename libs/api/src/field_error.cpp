#include "api/field_error.hpp"

#include <unordered_set>

#include "utf8.hpp"

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

// Much longer than any name, and short enough to be read.
constexpr std::size_t most_shown_characters = 256;

// Paths may hold keys of users' maps.
constexpr std::size_t longest_field = 1024;
constexpr std::size_t most_errors = 100;
constexpr std::size_t most_text = 32 * 1024;

std::string shortened(std::string_view text, std::size_t characters) {
    const std::string_view beginning = utf8::prefix(text, characters);
    return std::string(beginning) + (beginning == text ? "" : "...");
}

// As JSON; the beginning of a long text.
std::string shown(const Json& value) {
    return to_json(value.is_string() ? Json(shortened(value.as_string(), most_shown_characters)) : value);
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

FieldErrorExcerpt excerpt(FieldErrors errors) {
    FieldErrorExcerpt found;
    std::unordered_set<std::string> seen;
    std::size_t looked_at = 0;
    for (; looked_at < errors.size(); ++looked_at) {
        FieldError& error = errors[looked_at];
        error.field = shortened(error.field, longest_field);
        std::string text = line(error);
        if (seen.contains(text)) continue;
        const bool full = found.errors.size() == most_errors || found.text.size() + text.size() > most_text;
        if (full && !found.errors.empty()) break;
        if (!found.errors.empty()) found.text += ", ";
        found.text += text;
        seen.insert(std::move(text));
        found.errors.push_back(std::move(error));
    }
    if (found.errors.size() > 1) found.text = "[" + found.text + "]";
    if (looked_at < errors.size())
        found.text += " and " + std::to_string(errors.size() - looked_at) + " more";
    return found;
}

std::string describe(const FieldErrors& errors) { return excerpt(errors).text; }

}  // namespace api
