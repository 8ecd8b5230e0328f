#include <algorithm>

#include "api/text.hpp"
#include "crd/crd.hpp"
#include "validator.hpp"

namespace crd {
namespace {

using api::Json;

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;
constexpr std::size_t most_annotation_bytes = 256 * 1024;

const char* const subdomain_rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const char* const name_part_rule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const char* const label_value_rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const char* const qualified_name_rule =
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
    "'example.com/MyName')";

// Returns whether `text` begins and ends with a character of `fits`, and has only those and `between` inside.
bool consists_of(std::string_view text, bool (*fits)(char), std::string_view between) {
    return !text.empty() && fits(text.front()) && fits(text.back()) &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return fits(c) || between.find(c) != std::string_view::npos; });
}

bool is_subdomain(std::string_view text) {
    for (;;) {
        const auto dot = text.find('.');
        if (!consists_of(text.substr(0, dot), api::is_lower_or_digit, "-")) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_name_part(std::string_view text) { return consists_of(text, api::is_letter_or_digit, "-_."); }

std::string at_most(std::size_t bytes) { return "must be no more than " + std::to_string(bytes) + " bytes"; }

class Metadata {
public:
    Errors run(const Json& metadata) {
        check_names(metadata);
        for (const auto& [key, value] : metadata["labels"].members()) {
            check_key("metadata.labels", key);
            check_label_value(value.as_string());
        }
        std::size_t bytes = 0;
        for (const auto& [key, value] : metadata["annotations"].members()) {
            // The API server ignores the case of annotation keys.
            check_key("metadata.annotations", api::to_lower(key), key);
            bytes += key.size() + value.as_string().size();
        }
        if (bytes > most_annotation_bytes)
            errors_.push_back(api::cause_at(
                "metadata.annotations", "FieldValueTooLong",
                "Too long: may not be more than " + std::to_string(most_annotation_bytes) + " bytes"));
        return std::move(errors_);
    }

private:
    void add(std::string_view field, std::string_view value, const std::string& rule) {
        errors_.push_back(api::cause_at(std::string(field), "FieldValueInvalid",
                                        "Invalid value: " + shown(Json(value)) + ": " + rule));
    }

    void check_names(const Json& metadata) {
        if (std::string base(metadata["generateName"].as_string()); !base.empty()) {
            const std::string given = base;
            // The API server appends a suffix to the base, so that a hyphen at its end is valid.
            if (base.size() > 1 && base.back() == '-') base.back() = 'a';
            check_name("metadata.generateName", base, given);
        }
        const std::string_view name = metadata["name"].as_string();
        if (name.empty())
            errors_.push_back(api::cause_at("metadata.name", "FieldValueRequired",
                                            "Required value: name or generateName is required"));
        else
            check_name("metadata.name", name, name);
    }

    void check_name(std::string_view field, std::string_view name, std::string_view given) {
        if (name.size() > longest_name) add(field, given, at_most(longest_name));
        if (!is_subdomain(name)) add(field, given, subdomain_rule);
    }

    // PREFIX/NAME, or NAME.
    void check_key(std::string_view field, std::string_view key, std::string_view given) {
        const auto slash = key.find('/');
        std::string_view name = key;
        if (slash != std::string_view::npos) {
            const std::string_view prefix = key.substr(0, slash);
            name = key.substr(slash + 1);
            if (name.find('/') != std::string_view::npos) return add(field, given, qualified_name_rule);
            if (prefix.empty())
                add(field, given, "prefix part must be non-empty");
            else {
                if (prefix.size() > longest_name) add(field, given, "prefix part " + at_most(longest_name));
                if (!is_subdomain(prefix)) add(field, given, std::string("prefix part ") + subdomain_rule);
            }
        }
        if (name.empty())
            add(field, given, "name part must be non-empty");
        else if (name.size() > longest_label)
            add(field, given, "name part " + at_most(longest_label));
        if (!is_name_part(name)) add(field, given, name_part_rule);
    }
    void check_key(std::string_view field, std::string_view key) { check_key(field, key, key); }

    void check_label_value(std::string_view value) {
        if (value.size() > longest_label) add("metadata.labels", value, at_most(longest_label));
        if (!value.empty() && !is_name_part(value)) add("metadata.labels", value, label_value_rule);
    }

    Errors errors_ = {};
};

}  // namespace

Errors check_metadata(const Json& metadata) { return Metadata().run(metadata); }

}  // namespace crd
