// Writes YAML text. yaml-cpp's emitter neither escapes every control character nor quotes all the words that
// YAML 1.1 reads as booleans.
#include <algorithm>
#include <cstdio>

#include "api/text.hpp"
#include "api/yaml.hpp"
#include "yaml/yaml_parts.hpp"

namespace api {
namespace {

// Readers search the colon of a plain "key: value" line only within that many characters (libyaml: 1024).
constexpr std::size_t max_simple_key = 1000;

// Characters that must be escaped, also in quotes: line breaks that readers fold, invalid ones, and those
// that show a reader something else.
bool needs_escape(char32_t c) {
    return is_control(c) || is_separator(c) || is_bidi_control(c) || c == 0xFEFF || c == 0xFFFE ||
           c == 0xFFFF || c == invalid_character;
}

bool all_of(std::string_view text, auto predicate) {
    while (!text.empty())
        if (!predicate(take_character(text))) return false;
    return true;
}

bool is_string_if_plain(std::string_view text) {
    const auto resolved = yaml::resolve_plain(text);
    return resolved && resolved->is_string() && text != "<<";
}

// Text that begins with a digit, a sign or a dot is quoted unless it is clearly a word, so that no reader
// takes it for a date, a version or a base 60 number.
bool is_safe_plain(std::string_view text) {
    constexpr std::string_view indicators = "-?:,[]{}#&*!|>'\"%@`=.+ ";
    if (text.empty() || indicators.find(text.front()) != std::string_view::npos) return false;
    if (text.back() == ' ' || text.back() == ':') return false;
    if (text.find(": ") != text.npos || text.find(" #") != text.npos) return false;
    if (text.find_first_not_of("0123456789_.:-+eETZtz ") == text.npos) return false;
    if (find_ci_command(text) != text.npos) return false;
    return all_of(text, [](char32_t c) { return !needs_escape(c) && c != 0xA0; }) && is_string_if_plain(text);
}

// Returns whether a literal block represents exactly this text.
bool is_safe_literal(std::string_view text) {
    if (text.find('\n') == text.npos || text.front() == ' ' || text.front() == '\n' || text.front() == '\t')
        return false;
    if (text.ends_with("\n\n")) return false;
    if (!all_of(text, [](char32_t c) { return c == '\n' || c == '\t' || !needs_escape(c); })) return false;
    for (std::string_view rest = text; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        if (!line.empty() && line.find_first_not_of(" \t") == line.npos) return false;
        if (find_ci_command(line) != line.npos) return false;
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return true;
}

std::string escaped(char32_t c) {
    if (c == invalid_character) c = 0xFFFD;
    char text[12];
    std::snprintf(text, sizeof text, c < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c));
    return text;
}

std::string double_quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::string_view before = text;
        const char32_t c = take_character(text);
        if (c == '#' && out.back() == '#')
            out += "\\x23";  // find_ci_command()
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (c == '\r')
            out += "\\r";
        else if (needs_escape(c))
            out += escaped(c);
        else {
            if (c == '"' || c == '\\') out += '\\';
            out += before.substr(0, before.size() - text.size());
        }
    }
    return out + '"';
}

std::string on_one_line(std::string_view text) {
    return is_safe_plain(text) ? std::string(text) : double_quoted(text);
}

class Writer {
public:
    // The position is at the start of a line, or after "- ", where the column is `indent` already.
    void write(const Json& value, std::size_t indent) {
        if (value.is_object() && !value.empty())
            write_members(value.members(), indent);
        else if (value.is_array() && !value.empty())
            write_items(value.items(), indent);
        else
            write_scalar(value, indent);
    }
    std::string take() { return std::move(text_); }

private:
    void write_members(const Json::Object& members, std::size_t indent) {
        bool first = true;
        for (const auto& [key, value] : members) {
            if (!std::exchange(first, false)) text_.append(indent, ' ');
            const std::string name = on_one_line(key);
            if (name.size() > max_simple_key) {
                text_ += "? " + name + '\n';
                text_.append(indent, ' ');
            } else {
                text_ += name;
            }
            text_ += ':';
            write_value(value, indent);
        }
    }
    void write_value(const Json& value, std::size_t indent) {
        const bool is_block = !value.empty() && (value.is_object() || value.is_array());
        if (!is_block) {
            text_ += ' ';
            return write_scalar(value, indent);
        }
        // The items of a list start in the column of its key, as kubectl writes them.
        const std::size_t inner = value.is_object() ? indent + 2 : indent;
        text_ += '\n';
        text_.append(inner, ' ');
        write(value, inner);
    }
    void write_items(const Json::Array& items, std::size_t indent) {
        bool first = true;
        for (const Json& item : items) {
            if (!std::exchange(first, false)) text_.append(indent, ' ');
            text_ += "- ";
            write(item, indent + 2);
        }
    }
    void write_scalar(const Json& value, std::size_t indent) {
        if (!value.is_string())
            text_ += to_json(value);
        else if (is_safe_literal(value.as_string()))
            return write_literal(value.as_string(), indent);
        else
            text_ += on_one_line(value.as_string());
        text_ += '\n';
    }
    void write_literal(std::string_view text, std::size_t indent) {
        text_ += text.ends_with('\n') ? "|\n" : "|-\n";
        while (!text.empty()) {
            const auto line = text.substr(0, text.find('\n'));
            if (!line.empty()) text_.append(indent + 2, ' ').append(line);
            text_ += '\n';
            text.remove_prefix(std::min(line.size() + 1, text.size()));
        }
    }

    std::string text_;
};

}  // namespace

std::string to_yaml(const Json& value) {
    Writer writer;
    writer.write(value, 0);
    return writer.take();
}

}  // namespace api
