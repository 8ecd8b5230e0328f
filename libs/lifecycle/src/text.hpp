#pragma once
#include <string>
#include <string_view>

namespace lifecycle {

/// At most `limit` characters (code points). What is no UTF-8 becomes U+FFFD, so that it can be sent.
std::string cut_characters(std::string_view text, std::size_t limit);

/// At most `limit` bytes, cut between two characters; otherwise as above.
std::string cut_bytes(std::string_view text, std::size_t limit);

/// Replaces control characters by '?'. `text` is UTF-8.
std::string printable(std::string text);

}  // namespace lifecycle
