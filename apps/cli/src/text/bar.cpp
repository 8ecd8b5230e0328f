#include "text/bar.hpp"

#include <algorithm>
#include <cmath>

namespace cli {

std::string bar(double begin, double end, std::size_t columns, Glyphs glyphs) {
    const auto at = [columns](double part) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(columns)));
    };
    std::size_t first = at(begin);
    std::size_t last = at(end);
    if (end > begin && last == first) last < columns ? ++last : --first;
    const bool plain = glyphs == Glyphs::ascii;
    std::string text;
    for (std::size_t i = 0; i < columns; ++i)
        text += i >= first && i < last ? (plain ? "#" : "█") : (plain ? "." : "░");
    return text;
}

}  // namespace cli
