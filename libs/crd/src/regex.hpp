#pragma once
#include <regex.h>

#include <memory>
#include <string_view>

namespace crd {

/// A regular expression of a CRD or of CEL (RE2), limited to what POSIX supports as well. The C library's
/// implementation adds nothing to the size of the programs. Thread rule: const access from any thread.
class Regex {
public:
    /// Throws std::invalid_argument for an unsupported pattern.
    explicit Regex(std::string_view pattern);

    /// Returns whether the pattern occurs in the text. ^ and $ match the ends of the text and not of its
    /// lines; the dot matches any character but a newline.
    bool matches(std::string_view text) const;

private:
    std::shared_ptr<const regex_t> compiled_;
};

}  // namespace crd
