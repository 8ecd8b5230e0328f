#include "api/field_error.hpp"

#include <algorithm>

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

// As JSON; the beginning of a long text.
std::string shown(const Json& value) {
    const std::string_view text = value.as_string();
    const std::string_view beginning = utf8::prefix(text, most_shown_characters);
    return to_json(beginning == text ? value : Json(std::string(beginning) + "..."));
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

std::string describe(const FieldErrors& errors) {
    std::vector<std::string> lines;
    for (const FieldError& error : errors)
        if (std::string text = line(error); std::find(lines.begin(), lines.end(), text) == lines.end())
            lines.push_back(std::move(text));
    if (lines.empty()) return "";
    if (lines.size() == 1) return lines.front();
    std::string all = "[" + lines.front();
    for (std::size_t i = 1; i < lines.size(); ++i) all += ", " + lines[i];
    return all + "]";
}

}  // namespace api
