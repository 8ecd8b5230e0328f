#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "api/json.hpp"

/// What the commands write: text that can do nothing to a terminal or to the log of a CI.
namespace cli {

struct Terminal;

enum class Colours { no, yes };

/// The meaning of a text for its subject; a terminal shows it as a colour.
enum class Tone { plain, good, bad, held, faint };

/// Text with each character of its sources escaped that is more than a character to a reader: controls (C0,
/// DEL, C1), bidirectional controls, separators of lines and paragraphs, bytes that are no UTF-8, and the
/// beginnings of commands that a CI finds in logs ("::" at the start of a line, "##[", "##vso[",
/// "##teamcity["). An escape is "\n", "\x1b" or "\u202e". Backslashes stay: the result is for reading, and
/// escaping it again changes nothing. Line breaks and colours come from this type alone. Output functions
/// take nothing else.
class Text {
public:
    Text() = default;
    /// Escapes: the text is a part of one line, whatever it holds.
    explicit Text(std::string_view raw);
    /// Returns the text as a line of its own.
    static Text line(std::string_view raw) { return std::move(Text(raw).end_line()); }

    Text& operator+=(const Text& other);
    friend Text operator+(Text a, const Text& b) { return std::move(a += b); }
    Text& end_line();

    bool empty() const { return text_.empty(); }
    const std::string& str() const { return text_; }
    bool operator==(const Text&) const = default;

    /// Returns the text in the colour of its tone.
    static Text painted(std::string_view raw, Tone tone, Colours colours);
    /// Returns a line of a program's output. Of what Text escapes, tabs stay, and with `colours` those
    /// sequences that only change how the characters behind them look (SGR), up to the end of the line;
    /// without, they are left out.
    static Text output(std::string_view raw, Colours colours);
    /// Returns documents that read as these values. Only escapes of the format are added.
    static Text json(const api::Json& value);
    static Text yaml(const api::Json& value);

private:
    friend Text frame(const Text& text, const Terminal& terminal, bool first);

    std::string text_ = {};
};

/// The output and the exit status of a command.
struct Output {
    Text out = {};  ///< for stdout; whole lines, as in `err`
    Text err = {};
    int status = 0;
};

/// Writes to standard output at once. Returns false if that fails, for example because the reader of a pipe
/// has ended.
bool print(const Text& text);

/// Writes to standard error at once.
void print_error(const Text& text);

}  // namespace cli
