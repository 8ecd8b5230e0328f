#include "api/nearest.hpp"

#include <algorithm>
#include <vector>

namespace api {

// In the table of distances between all beginnings of the two words, only cells near the diagonal can be
// within `most`.
std::size_t edit_distance(std::string_view from, std::string_view to, std::size_t most) {
    const std::size_t too_many = most + 1;
    if (from.size() > to.size()) std::swap(from, to);
    if (to.size() - from.size() > most) return too_many;
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) row[j] = std::min(j, too_many);
    for (std::size_t i = 1; i <= from.size(); ++i) {
        const std::size_t begin = i > most ? i - most : 1;
        const std::size_t end = std::min(to.size(), i + most);
        std::size_t diagonal = row[begin - 1];
        row[begin - 1] = begin == 1 ? std::min(i, too_many) : too_many;
        for (std::size_t j = begin; j <= end; ++j) {
            const std::size_t above = j == i + most ? too_many : row[j];
            const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = above;
            row[j] = std::min({above + 1, row[j - 1] + 1, replaced, too_many});
        }
    }
    return row[to.size()];
}

Nearest::Nearest(std::string_view misspelt)
    : misspelt_(misspelt), most_(std::clamp<std::size_t>(misspelt.size() / 3, 1, 3)) {}

void Nearest::offer(std::string_view word) {
    const std::size_t distance = edit_distance(misspelt_, word, most_);
    if (distance > most_) return;
    found_ = word;
    // Only a nearer word replaces the present one.
    most_ = distance == 0 ? 0 : distance - 1;
}

}  // namespace api
