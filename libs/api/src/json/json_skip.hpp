#pragma once
#include <cstddef>

namespace api {

/// Returns the end of the JSON value that begins at `text`, with at most `levels` nested containers. Returns
/// nullptr if only a full parser can decide whether it is valid: for anything invalid, and for forms that the
/// API server hardly ever writes (spaces, \u escapes, numbers that are not short integers). parse_json()
/// accepts every value that this function accepts.
///
/// Strings must be UTF-8, and `bytes_beyond` (json_words.hpp) bytes must follow the text, the first of them
/// zero.
const char* skip_json(const char* text, std::size_t levels);

}  // namespace api
