#pragma once
#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace crd {

/// A regular expression of a CRD or of CEL, in the syntax of an API server (RE2). Takes time in proportion to
/// the text, whatever the pattern. Thread rule: const access from any thread.
class Regex {
public:
    /// Throws std::invalid_argument for a pattern that no API server compiles.
    explicit Regex(std::string_view pattern);

    /// Returns whether the pattern occurs in the text. ^ and $ match the ends of the text and not of its
    /// lines; the dot matches any character but a newline.
    bool matches(std::string_view text) const;

private:
    std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace crd
