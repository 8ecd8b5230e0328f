#include "api/text.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace {

std::vector<char32_t> characters(std::string_view text) {
    std::vector<char32_t> all;
    while (!text.empty()) all.push_back(api::take_character(text));
    return all;
}

constexpr char32_t bad = api::invalid_character;

}  // namespace

TEST_CASE("text is read by characters, and a byte that belongs to none counts alone", "[text]") {
    CHECK(characters("") == std::vector<char32_t>{});
    CHECK(characters("a\x7F") == std::vector<char32_t>{'a', 0x7F});
    CHECK(characters("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\x86") == std::vector<char32_t>{0xE4, 0x20AC, 0x1F686});
    CHECK(characters("\xF4\x8F\xBF\xBF") == std::vector<char32_t>{0x10FFFF});
    const std::string_view invalid[] = {"\x80",         "\xC0\x80", "\xC1\xBF",         "\xE0\x9F\xBF",
                                        "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                                        "\xF5",         "\xC3"};
    for (const std::string_view text : invalid) {
        CAPTURE(text);
        CHECK(characters(text) == std::vector<char32_t>(text.size(), bad));
    }
    CHECK(characters("\xE2\x82 \xC3\xA4") == std::vector<char32_t>{bad, bad, ' ', 0xE4});
}

TEST_CASE("a character is appended as take_character() reads it", "[text]") {
    constexpr char32_t whole[] = {0x00,   0x61,   0x7F,   0x80,   0xE4,    0x7FF,   0x800,   0x20AC,
                                  0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F686, 0x10FFFF};
    for (const char32_t c : whole) {
        CAPTURE(static_cast<std::uint32_t>(c));
        std::string text = "a";
        api::append_character(text, c);
        CHECK(characters(text) == std::vector<char32_t>{'a', c});
    }
    std::string text;
    api::append_character(text, 0x20AC);
    CHECK(text == "\xE2\x82\xAC");
    constexpr char32_t none[] = {0xD800, 0xDFFF, 0x110000, api::invalid_character};
    for (const char32_t c : none) {
        CAPTURE(static_cast<std::uint32_t>(c));
        text.clear();
        api::append_character(text, c);
        CHECK(text == "\xEF\xBF\xBD");
    }
}

TEST_CASE("the first invalid byte of a text is found wherever it is", "[text]") {
    for (std::size_t at = 0; at < 20; ++at) {
        std::string text(20, 'a');
        CHECK(api::find_invalid_character(text) == std::string::npos);
        text[at] = '\xFF';
        CHECK(api::find_invalid_character(text) == at);
    }
    CHECK(api::find_invalid_character("aaaaaaa\xC3\xA4\xC3") == 9);
}

TEST_CASE("a text is cut between characters", "[text]") {
    const std::string_view text = "a\xC3\xA4\xE2\x82\xAC";
    CHECK(api::count_characters(text) == 3);
    CHECK(api::first_characters(text, 2) == "a\xC3\xA4");
    CHECK(api::first_characters(text, 9) == text);
    const std::string_view by_bytes[] = {"", "a", "a", "a\xC3\xA4", "a\xC3\xA4", "a\xC3\xA4", text, text};
    for (std::size_t limit = 0; limit < std::size(by_bytes); ++limit) {
        CAPTURE(limit);
        CHECK(api::first_bytes(text, limit) == by_bytes[limit]);
        CHECK(api::cut_bytes(text, limit) == by_bytes[limit]);
    }
    const std::string_view ends[] = {"",   "",  "", "\xE2\x82\xAC", "\xE2\x82\xAC", "\xC3\xA4\xE2\x82\xAC",
                                     text, text};
    for (std::size_t limit = 0; limit < std::size(ends); ++limit)
        CHECK(api::last_bytes(text, limit) == ends[limit]);
    CHECK(api::cut_characters(text, 2) == "a\xC3\xA4");
    // An invalid byte is replaced by three bytes, or left out with all that follows.
    CHECK(api::cut_bytes("a\xFF"
                         "b",
                         3) == "a");
    CHECK(api::cut_bytes("a\xFF"
                         "b",
                         5) ==
          "a\xEF\xBF\xBD"
          "b");
    CHECK(api::cut_characters("\xFF\xFF\xFF", 2) == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("the case of ASCII letters is changed and ignored, and nothing else", "[text]") {
    CHECK(api::to_lower("AZaz[@`{\xC3\x84") == "azaz[@`{\xC3\x84");
    CHECK(api::to_upper("AZaz[@`{\xC3\xA4") == "AZAZ[@`{\xC3\xA4");
    CHECK(api::equal_ignoring_case("Host", "hOST"));
    CHECK_FALSE(api::equal_ignoring_case("Host", "Hos"));
    CHECK_FALSE(api::equal_ignoring_case("[", "{"));  // they differ in the bit that makes the case of letters
    CHECK_FALSE(api::equal_ignoring_case("\xC3\x84", "\xC3\xA4"));
}

TEST_CASE("classes of characters are those of ASCII", "[text]") {
    std::string letters, digits, upper;
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        if (api::is_letter(c)) letters += c;
        if (api::is_digit(c)) digits += c;
        if (api::is_upper(c)) upper += c;
        CHECK(api::is_letter_or_digit(c) == (api::is_letter(c) || api::is_digit(c)));
        CHECK(api::is_lower_or_digit(c) == (api::is_letter_or_digit(c) && !api::is_upper(c)));
    }
    CHECK(upper == "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    CHECK(letters == upper + api::to_lower(upper));
    CHECK(digits == "0123456789");
    CHECK((api::is_control(0x1F) && api::is_control(0x7F) && api::is_control(0x9F)));
    CHECK_FALSE((api::is_control(' ') || api::is_control(0xA0)));
}

TEST_CASE("control characters are shown as question marks", "[text]") {
    CHECK(api::printable("a\n\x1B[1m\x7F\xC2\x85\xC2\xA0\xC3\xA4\xFF") == "a??[1m??\xC2\xA0\xC3\xA4\xFF");
    CHECK(api::printable("").empty());
}

TEST_CASE("a quoted text is a JSON string", "[text]") {
    CHECK(api::quoted("a\"b\\\n") == R"("a\"b\\\n")");
    CHECK(api::quoted("") == R"("")");
}

TEST_CASE("a list with commas is taken apart item by item", "[api]") {
    const auto items = [](std::string_view list) {
        std::string text;
        while (!list.empty()) text.append("<").append(api::take_item(list)).append(">");
        return text;
    };
    CHECK(items("").empty());
    CHECK(items("a") == "<a>");
    CHECK(items("a,,b=c") == "<a><><b=c>");
    CHECK(items(",a,") == "<><a>");
}
