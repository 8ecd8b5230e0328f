// Written here, because this library must use neither OpenSSL nor Beast, whose base64 is internal, and
// Boost's archive iterators do not handle padding and errors.
#include "api/base64.hpp"

#include <array>
#include <cstdint>

namespace api {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
    std::array<std::int8_t, 256> values = {};
    for (auto& value : values) value = -1;
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    return values;
}
constexpr auto values = make_values();

Error broken(std::size_t at, const char* why) {
    return {.code = Errc::invalid, .message = "not base64 at byte " + std::to_string(at) + ": " + why};
}

}  // namespace

std::string to_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t taken = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8 | (k < taken ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        for (std::size_t k = 0; k < 4; ++k) text += k <= taken ? alphabet[group >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

Result<std::string> from_base64(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    std::size_t digits = 0;
    std::size_t padding = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n' || c == '\r') continue;
        if (c == '=') {
            if (++padding + digits > 4 || digits < 2) return broken(i, "padding in the wrong place");
            continue;
        }
        const int value = values[static_cast<unsigned char>(c)];
        if (value < 0) return broken(i, "a character that does not belong there");
        if (padding > 0) return broken(i, "text after the padding");
        group = group << 6 | static_cast<std::uint32_t>(value);
        if (++digits < 4) continue;
        for (const int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 0xff);
        group = 0;
        digits = 0;
    }
    if (digits == 0) return bytes;
    if (digits + padding != 4) return broken(text.size(), "it ends early");
    group <<= 6 * padding;
    for (std::size_t k = 0; k + 1 < digits; ++k) bytes += static_cast<char>(group >> (16 - 8 * k) & 0xff);
    return bytes;
}

Result<std::string> from_base64url(std::string_view text) {
    std::string usual(text);
    for (std::size_t i = 0; i < usual.size(); ++i) {
        char& c = usual[i];
        if (std::string_view("+/=\n\r").find(c) != std::string_view::npos)
            return broken(i, "a character that does not belong there");
        if (c == '-') c = '+';
        if (c == '_') c = '/';
    }
    usual.append((4 - usual.size() % 4) % 4, '=');
    return from_base64(usual);
}

}  // namespace api
