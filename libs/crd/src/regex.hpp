#pragma once
#include <boost/regex.hpp>
#include <string_view>

namespace crd {

/// Whether it is found in the text, by the rules of RE2, which CRDs and CEL go by: ^ and $ stand for the ends
/// of the text and not of its lines, and the dot for anything but a newline.
inline bool is_match(std::string_view text, const boost::regex& regex) {
    const auto as_re2 = boost::match_single_line | boost::match_not_dot_newline;
    return boost::regex_search(text.begin(), text.end(), regex, as_re2);
}

}  // namespace crd
