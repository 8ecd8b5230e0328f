#pragma once
#include <cstddef>
#include <string>
#include <string_view>

/// Misspelt words, and what was meant.
namespace api {

/// The fewest characters to insert, delete or replace on the way from one word to the other; `most` + 1 if
/// these are more than `most`. Takes time in proportion to the length of a word and to `most`.
std::size_t edit_distance(std::string_view from, std::string_view to, std::size_t most);

/// Finds the word that is nearest to a misspelt one.
class Nearest {
public:
    explicit Nearest(std::string_view misspelt);

    void offer(std::string_view word);
    /// The first one of the nearest words that were offered; empty if none is near: a third of the characters
    /// may differ, at least one of them and at most three.
    const std::string& found() const { return found_; }

private:
    std::string misspelt_;
    std::size_t most_;
    std::string found_ = {};
};

}  // namespace api
