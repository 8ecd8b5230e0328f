#pragma once
#include <cstddef>
#include <string>
#include <string_view>

/// Suggestions for misspelt words.
namespace api {

/// Returns the edit distance: the number of characters to insert, delete or replace from one word to the
/// other; `most` + 1 if it is more than `most`. Takes time in proportion to the length of a word and to
/// `most`.
std::size_t edit_distance(std::string_view from, std::string_view to, std::size_t most);

/// Finds the word with the smallest distance to a misspelt one.
class Nearest {
public:
    explicit Nearest(std::string_view misspelt);

    void offer(std::string_view word);
    /// Returns the first of the nearest words; empty if none is near. A third of the characters may differ,
    /// at least one and at most three.
    const std::string& found() const { return found_; }

private:
    std::string misspelt_;
    std::size_t most_;
    std::string found_ = {};
};

}  // namespace api
