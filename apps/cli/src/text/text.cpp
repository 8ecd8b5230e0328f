#include "text/text.hpp"

#include <algorithm>
#include <cstdio>

#include "api/text.hpp"
#include "api/yaml.hpp"

namespace cli {
namespace {

constexpr char escape = '\x1b';
constexpr std::string_view reset = "\x1b[0m";

bool is_unsafe(char32_t c) {
    return api::is_control(c) || api::is_bidi_control(c) || api::is_separator(c) ||
           c == api::invalid_character;
}

std::string number(const char* format, unsigned value) {
    char text[12];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

// `bytes`: those of the character.
std::string escape_of(char32_t c, std::string_view bytes) {
    switch (c) {
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        default: break;
    }
    if (c == api::invalid_character) c = static_cast<unsigned char>(bytes.front());
    return number(c < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c));
}

// Most texts have nothing to escape.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7F'; });
}

// Appends the escaped text. Before each character `passes` may take what stays as it is from the rest, and
// append something for it.
template <class Passes>
void append_escaped(std::string& out, std::string_view text, Passes passes) {
    // Returns how much of the text is left where the next command begins; 0: there is none.
    const auto next_command = [&text] {
        const std::size_t found = api::find_ci_command(text);
        return found == std::string_view::npos ? 0 : text.size() - found;
    };
    std::size_t command = next_command();
    if (command == 0 && is_plain(text)) {
        out += text;
        return;
    }
    while (!text.empty()) {
        if (text.size() < command) command = next_command();
        if (passes(text)) continue;
        const std::string_view before = text;
        const char32_t c = api::take_character(text);
        const std::string_view bytes = before.substr(0, before.size() - text.size());
        if (before.size() == command || is_unsafe(c))
            out += escape_of(c, bytes);
        else
            out += bytes;
    }
}

bool nothing_passes(std::string_view&) { return false; }

// Returns the length of the sequence at the beginning that sets colours and styles; 0: it is none.
std::size_t style_length(std::string_view text) {
    if (!text.starts_with("\x1b[")) return 0;
    const std::size_t end = text.find_first_not_of("0123456789;:", 2);
    return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string without_styles(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t style = style_length(text);
        if (style == 0) out += text.front();
        text.remove_prefix(std::max<std::size_t>(style, 1));
    }
    return out;
}

bool write_to(std::FILE* file, const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

}  // namespace

Text::Text(std::string_view raw) { append_escaped(text_, raw, nothing_passes); }

Text& Text::operator+=(const Text& other) {
    text_ += other.text_;
    return *this;
}

Text& Text::end_line() {
    text_ += '\n';
    return *this;
}

Text Text::painted(std::string_view raw, Tone tone, Colours colours) {
    Text text(raw);
    if (colours == Colours::no || tone == Tone::plain) return text;
    const char* code = tone == Tone::good ? "32" : tone == Tone::bad ? "31" : tone == Tone::held ? "33" : "2";
    text.text_ = "\x1b[" + std::string(code) + "m" + text.text_ + std::string(reset);
    return text;
}

Text Text::output(std::string_view raw, Colours colours) {
    // First, because what is left without them may be a command of a CI.
    const std::string stripped = colours == Colours::no ? without_styles(raw) : std::string();
    Text text;
    bool styled = false;
    append_escaped(text.text_, colours == Colours::no ? stripped : raw, [&](std::string_view& rest) {
        const bool is_tab = rest.front() == '\t';
        const bool may_be_style = colours == Colours::yes && rest.front() == escape;
        const std::size_t length = is_tab ? 1 : may_be_style ? style_length(rest) : 0;
        text.text_ += rest.substr(0, length);
        styled = styled || length > 1;
        rest.remove_prefix(length);
        return length > 0;
    });
    if (styled) text.text_ += reset;
    return text.end_line();
}

// Beyond ASCII everything is inside a string, as is a '#'.
Text Text::json(const api::Json& value) {
    const std::string all = api::to_json(value);
    Text text;
    for (std::string_view rest = all; !rest.empty();) {
        const std::string_view before = rest;
        const char32_t c = api::take_character(rest);
        if (is_unsafe(c) || (c == '#' && text.text_.ends_with('#')))
            text.text_ += number("\\u%04x", c == api::invalid_character ? 0xFFFD : static_cast<unsigned>(c));
        else
            text.text_ += before.substr(0, before.size() - rest.size());
    }
    return text.end_line();
}

// to_yaml() writes nothing but line breaks and tabs of what this type escapes.
Text Text::yaml(const api::Json& value) {
    Text text;
    text.text_ = api::to_yaml(value);
    return text;
}

bool print(const Text& text) { return write_to(stdout, text.str()); }

void print_error(const Text& text) { (void)write_to(stderr, text.str()); }

}  // namespace cli
