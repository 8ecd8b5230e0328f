#include "text/tone.hpp"

namespace cli {

std::string painted(std::string_view text, Tone tone, Colours colours) {
    if (colours == Colours::no || tone == Tone::plain) return std::string(text);
    const char* code = tone == Tone::good ? "32" : tone == Tone::bad ? "31" : tone == Tone::held ? "33" : "2";
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string harmless(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (c1) ++i;
        out += byte < 0x20 || byte == 0x7F || c1 ? ' ' : text[i];
    }
    return out;
}

}  // namespace cli
