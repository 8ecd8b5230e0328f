#pragma once
#include <regex.h>

#include <memory>
#include <string_view>

namespace crd {

/// A regular expression as CRDs and CEL have them (RE2), as far as POSIX knows the same: the C library's
/// costs the programs nothing. Thread rule: const access from several threads is fine.
class Regex {
public:
    /// Throws std::invalid_argument on what is not covered.
    explicit Regex(std::string_view pattern);

    /// Whether it is found in the text. ^ and $ stand for the ends of the text and not of its lines, and the
    /// dot for anything but a newline.
    bool matches(std::string_view text) const;

private:
    std::shared_ptr<const regex_t> compiled_;
};

}  // namespace crd
