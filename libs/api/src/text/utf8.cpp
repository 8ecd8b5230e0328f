#include "text/utf8.hpp"

#include <cstring>

namespace api::utf8 {

char32_t take(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
    char32_t point = size == 1 ? first : first & (0x7Fu >> size);
    bool good = size > 0 && size <= text.size();
    for (std::size_t i = 1; good && i < size; ++i) {
        good = (byte(i) & 0xC0) == 0x80;
        point = point << 6 | (byte(i) & 0x3F);
    }
    constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    good = good && point >= smallest[size] && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
    text.remove_prefix(good ? size : 1);
    return good ? point : broken;
}

std::size_t find_broken(std::string_view text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        // Almost all text is ASCII: checks eight bytes at a time.
        std::uint64_t word = 0;
        while (rest.size() >= sizeof word) {
            std::memcpy(&word, rest.data(), sizeof word);
            if ((word & 0x8080808080808080) != 0) break;
            rest.remove_prefix(sizeof word);
        }
        if (rest.empty()) break;
        const std::size_t at = text.size() - rest.size();
        if (take(rest) == broken) return at;
    }
    return std::string_view::npos;
}

std::string_view prefix(std::string_view text, std::size_t count) {
    std::string_view rest = text;
    for (; count > 0 && !rest.empty(); --count) take(rest);
    return text.substr(0, text.size() - rest.size());
}

}  // namespace api::utf8
