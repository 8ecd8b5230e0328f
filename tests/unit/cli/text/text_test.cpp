// The layout of texts for a terminal or a pipe.
#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <type_traits>

#include "api/text.hpp"
#include "api/yaml.hpp"
#include "text/duration.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;

Terminal on_a_terminal(std::map<std::string, std::string> variables, std::size_t columns = 80) {
    return terminal_of(true, columns, 24, [variables](const char* name) {
        const auto at = variables.find(name);
        return at == variables.end() ? std::string() : at->second;
    });
}

}  // namespace

// Whatever a command prints has gone through the constructor of this type.
static_assert(!std::is_convertible_v<std::string, Text> && !std::is_convertible_v<const char*, Text>);

TEST_CASE("what a terminal obeys, what changes the order of a line and what ends it is escaped", "[text]") {
    const std::pair<std::string_view, const char*> rows[] = {
        {"größe 夜間 \\n", "größe 夜間 \\n"},
        {"a\r\nb\tc", "a\\r\\nb\\tc"},
        {{"\0\x1b[2J\x7f", 6}, "\\x00\\x1b[2J\\x7f"},
        {"\xc2\x9b"
         "31m\xc2\x85",
         "\\x9b31m\\x85"},
        {"\x9b"
         "31m\xc3",
         "\\x9b31m\\xc3"},
        {"\xe2\x80\xae"
         "txt\xe2\x81\xa9\xd8\x9c",
         "\\u202etxt\\u2069\\u061c"},
        {"a\xe2\x80\xa8"
         "b",
         "a\\u2028b"},
    };
    for (const auto& [raw, shown] : rows) {
        CHECK(Text(raw).str() == shown);
        CHECK(Text(Text(raw).str()).str() == shown);
        CHECK(Text::line(raw).str() == std::string(shown) + "\n");
    }
}

TEST_CASE("a text is no command of a CI", "[text]") {
    const std::pair<const char*, const char*> rows[] = {
        {"::error::x", "\\x3a:error::x"},
        {" \xe3\x80\x80::error::x", " \xe3\x80\x80\\x3a:error::x"},
        {"::::", "\\x3a\\x3a\\x3a:"},
        {"a::b", "a::b"},
        {"##[error]x ##vso[a]", "#\\x23[error]x #\\x23vso[a]"},
        {"###[group]", "##\\x23[group]"},
        {"## Training [1]", "## Training [1]"},
    };
    for (const auto& [raw, shown] : rows) {
        CHECK(Text(raw).str() == shown);
        CHECK(Text(Text(raw).str()).str() == shown);
    }
}

TEST_CASE("output of programs keeps its tabs, and on a terminal its colours up to the end of the line",
          "[text]") {
    const char* raw = "\x1b[1;31mred\x1b[0m\tand\x1b[2K\x1b[1A\x1b[38:5:1m\x1b[\r";
    CHECK(Text::output(raw, Colours::yes).str() ==
          "\x1b[1;31mred\x1b[0m\tand\\x1b[2K\\x1b[1A\x1b[38:5:1m\\x1b[\\r\x1b[0m\n");
    CHECK(Text::output(raw, Colours::no).str() == "red\tand\\x1b[2K\\x1b[1A\\x1b[\\r\n");
    CHECK(Text::output("plain", Colours::yes).str() == "plain\n");
}

TEST_CASE("output of programs is no command of a CI, whatever is left out of it", "[text]") {
    for (const char* raw : {"##\x1b[m[error]x", "##vso\x1b[0m[task.setvariable variable=a]b",
                            "\x1b[m::error::x", "\x1b[1m:\x1b[m:error::x", "#\x1b[m#\x1b[m[error]x"}) {
        INFO(raw);
        const std::string shown = Text::output(raw, Colours::no).str();
        CHECK(api::find_ci_command(shown) == std::string::npos);
        CHECK(shown.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("documents read as what they hold, and have nothing in them that Text escapes", "[text]") {
    const std::string hostile = "::a\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\t##[error]\r";
    for (const std::string& text : {hostile, hostile + "\n::error::b\n", std::string("a\n::error::b\n"),
                                    std::string("a\n  ##vso[b]\n"), std::string("a ##[b]")}) {
        const api::Json value = api::Json::object({{text, text}, {"list", api::Json::array({text})}});
        CHECK(api::parse_json(Text::json(value).str()).value() == value);
        CHECK(api::parse_yaml(Text::yaml(value).str()).value() == value);
        for (const Text& document : {Text::json(value), Text::yaml(value)}) {
            INFO(document.str());
            std::istringstream lines(document.str());
            for (std::string line; std::getline(lines, line);) CHECK(Text(line).str() == line);
        }
    }
}

TEST_CASE("the width of a text is counted in columns of a terminal", "[text]") {
    const std::pair<const char*, std::size_t> rows[] = {
        {"", 0},        {"night", 5},      {"größe", 5}, {"夜間", 4}, {"한국", 4},
        {"e\u0301", 1}, {"\U0001F680", 2}, {"…", 1},     {"█░", 2},   {"\xff\xc3", 2},
    };
    for (const auto& [text, width] : rows) {
        INFO(text);
        CHECK(width_of(text) == width);
    }
}

TEST_CASE("a text is cut between characters, with a mark", "[text]") {
    CHECK(cut("night", 5) == "night");
    CHECK(cut("nights", 5) == "nigh…");
    CHECK(cut("夜間学習", 6) == "夜間…");
    CHECK(cut("夜間学習", 5) == "夜間…");
    CHECK(cut("夜間学習", 4) == "夜…");
    CHECK(cut("night", 1) == "…");
    CHECK(cut("night", 0).empty());
    CHECK(cut_beginning("night", 5) == "night");
    CHECK(cut_beginning("nights", 5) == "…ghts");
    CHECK(cut_beginning("夜間学習", 6) == "…学習");
    CHECK(cut_beginning("night", 1) == "…");
    CHECK(cut_beginning("night", 0).empty());
    CHECK(padded("夜", 4) == "夜  ");
}

TEST_CASE("columns of a table are as wide as their widest cell", "[text]") {
    const std::vector<std::vector<Cell>> rows = {{{"night"}, {"running", Tone::good}, {"1h"}},
                                                 {{"夜間"}, {"cannot be created", Tone::bad}, {""}}};
    CHECK(table({"NAME", "STATE", "AGE"}, rows, Colours::no).str() ==
          "NAME    STATE               AGE\n"
          "night   running             1h\n"
          "夜間    cannot be created   -\n");
    CHECK(table({"NAME", "STATE", "AGE"}, rows, Colours::yes).str().find("\x1b[32mrunning\x1b[0m   ") !=
          std::string::npos);
    CHECK(table({"A"}, {{{"x\x1b[31m\n"}}}, Colours::yes).str().find("x\\x1b[31m\\n") != std::string::npos);
}

TEST_CASE("lines of a table end at the width of the terminal", "[text]") {
    const std::vector<std::vector<Cell>> rows = {{{"night"}, {"running"}, {"1h"}}};
    const std::pair<std::size_t, const char*> widths[] = {{80, "night   running   1h\n"},
                                                          {15, "night   running\n"},
                                                          {14, "night   runni…\n"},
                                                          {6, "night\n"},
                                                          {3, "ni…\n"}};
    for (const auto& [width, line] : widths) {
        const std::string text = table({"NAME", "STATE", "AGE"}, rows, Colours::no, width).str();
        INFO(width);
        std::string second = text.substr(text.find('\n') + 1);
        second.erase(second.find_last_not_of(" \n") + 1);
        CHECK(second + "\n" == line);
        CHECK(width_of(text.substr(0, text.find('\n'))) <= width);
    }
}

TEST_CASE("a bar fills its part, and shows at least a little for more than nothing", "[text]") {
    CHECK(bar(0, 0.5, 10, Glyphs::ascii) == "#####.....");
    CHECK(bar(0, 0, 4, Glyphs::ascii) == "....");
    CHECK(bar(0, 1, 4, Glyphs::ascii) == "####");
    CHECK(bar(0, 0.01, 4, Glyphs::ascii) == "#...");
    CHECK(bar(0.99, 1, 4, Glyphs::ascii) == "...#");
    CHECK(bar(-1, 2, 4, Glyphs::ascii) == "####");
    CHECK(bar(0.25, 0.5, 4, Glyphs::unicode) == "░█░░");
}

TEST_CASE("times are shown in their two largest units", "[text]") {
    CHECK(format_duration(0s) == "0s");
    CHECK(format_duration(59s) == "59s");
    CHECK(format_duration(61s) == "1m 1s");
    CHECK(format_duration(3600s) == "1h");
    CHECK(format_duration(90061s) == "1d 1h");
    CHECK(format_duration(86401s) == "1d");
    CHECK(short_duration(90061s) == "1d1h");
}

TEST_CASE("a terminal shows colours unless NO_COLOR is set, and bars in UTF-8", "[text]") {
    CHECK(on_a_terminal({}).colours == Colours::yes);
    CHECK(on_a_terminal({{"NO_COLOR", "1"}}).colours == Colours::no);
    CHECK(on_a_terminal({{"NO_COLOR", ""}}).colours == Colours::yes);
    CHECK(on_a_terminal({{"TERM", "dumb"}}).colours == Colours::no);
    CHECK(on_a_terminal({}).glyphs == Glyphs::ascii);
    CHECK(on_a_terminal({{"LANG", "de_DE.UTF-8"}}).glyphs == Glyphs::unicode);
    CHECK(on_a_terminal({{"LANG", "de_DE.UTF-8"}, {"LC_ALL", "C"}}).glyphs == Glyphs::ascii);
    CHECK(on_a_terminal({{"COLUMNS", "100"}}, 0).columns == 100);
    CHECK(on_a_terminal({{"COLUMNS", "wide"}}, 0).columns == 0);
    const Terminal pipe = terminal_of(false, 80, 24, [](const char*) { return std::string("C.UTF-8"); });
    CHECK(pipe.colours == Colours::no);
    CHECK(pipe.columns == 0);
}

TEST_CASE("a frame replaces the one before without an empty screen, and does not scroll", "[text]") {
    Terminal small = {.is_terminal = true, .columns = 6, .lines = 3};
    const std::string begin = "\x1b[?2026h\x1b[?25l\x1b[H";
    const std::string end = "\x1b[J\x1b[?25h\x1b[?2026l";
    const auto lines = [](std::initializer_list<const char*> all) {
        Text text;
        for (const char* each : all) text += Text::line(each);
        return text;
    };
    const Text red = Text::painted("longer line", Tone::bad, Colours::yes) + lines({"", "b"});
    CHECK(frame(red, small).str() == begin + "\x1b[31mlonge…\x1b[0m\x1b[K\nb\x1b[K\n" + end);
    CHECK(frame(lines({"a", "b", "c", "d"}), small).str() == begin + "a\x1b[K\nand 3…\x1b[K\n" + end);
    CHECK(frame(lines({"a", "b", "c", "d"}), {.is_terminal = true}).str() ==
          begin + "a\x1b[K\nb\x1b[K\nc\x1b[K\nd\x1b[K\n" + end);
    CHECK(frame({}, small).str() == begin + end);
    CHECK(frame({}, small, true).str() == "\x1b[2J" + begin + end);
}

}  // namespace cli
