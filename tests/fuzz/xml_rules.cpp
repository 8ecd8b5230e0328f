#include "xml_rules.hpp"

#include <algorithm>
#include <vector>

#include "api/text.hpp"

namespace {

// XML 1.0, 2.2.
bool is_xml_character(char32_t c) {
    return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0xD7FF) ||
           (c >= 0xE000 && c <= 0xFFFD) || (c >= 0x10000 && c <= 0x10FFFF);
}

bool is_name(std::string_view name) {
    return !name.empty() && api::is_letter(name.front()) && std::ranges::all_of(name, [](char c) {
        return api::is_letter_or_digit(c) || c == '-' || c == ':';
    });
}

// Removes one of these references, which begin with '&', from the front.
bool take_reference(std::string_view& text) {
    for (const std::string_view reference : {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"})
        if (text.starts_with(reference)) return text.remove_prefix(reference.size()), true;
    return false;
}

bool is_content(std::string_view text) {
    while (!text.empty()) {
        if (text.front() == '<') return false;
        if (text.front() == '&' ? !take_reference(text) : (text.remove_prefix(1), false)) return false;
    }
    return true;
}

// What follows the name of an element: ` name="value"`, each name once.
bool are_attributes(std::string_view text) {
    std::vector<std::string_view> names;
    while (!text.empty()) {
        const std::size_t equals = text.find("=\"");
        if (text.front() != ' ' || equals == text.npos) return false;
        const std::string_view name = text.substr(1, equals - 1);
        const std::size_t end = text.find('"', equals + 2);
        if (end == text.npos || !is_name(name) || std::ranges::find(names, name) != names.end() ||
            !is_content(text.substr(equals + 2, end - equals - 2)))
            return false;
        names.push_back(name);
        text.remove_prefix(end + 1);
    }
    return true;
}

}  // namespace

std::string broken_xml(std::string_view text) {
    for (std::string_view rest = text; !rest.empty();)
        if (const char32_t c = api::take_character(rest); !is_xml_character(c))
            return "character " + std::to_string(c) + " is not allowed";
    std::vector<std::string_view> open;
    bool has_root = false;
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find('<'), text.size());
        const std::string_view content = text.substr(0, begin);
        if (!is_content(content)) return "a broken reference in " + std::string(content);
        if (open.empty() && content.find_first_not_of('\n') != content.npos)
            return "text outside of the root";
        text.remove_prefix(begin);
        if (text.empty()) break;
        const std::size_t end = text.find('>');
        if (end == text.npos) return "a tag without an end";
        std::string_view tag = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (tag.starts_with('/')) {
            if (open.empty() || open.back() != tag.substr(1)) return "no such element: " + std::string(tag);
            open.pop_back();
            continue;
        }
        if (open.empty() && has_root) return "a second root";
        has_root = true;
        const bool is_empty = tag.ends_with('/');
        if (is_empty) tag.remove_suffix(1);
        const std::string_view name = tag.substr(0, tag.find(' '));
        if (!is_name(name) || !are_attributes(tag.substr(name.size())))
            return "a broken tag: " + std::string(tag);
        if (!is_empty) open.push_back(name);
    }
    if (!open.empty()) return "not closed: " + std::string(open.back());
    return has_root ? "" : "no root";
}
