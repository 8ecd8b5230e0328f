#pragma once
#include <cstddef>

namespace api {

/// The end of the JSON value that begins at `text`, with at most `levels` containers in each other; nullptr
/// if only a closer look can tell whether it is one. That is so for whatever is not valid, and for what JSON
/// as the API server writes it has hardly ever: spaces, \u escapes, numbers that are not short integers.
/// What this takes, parse_json() takes.
///
/// Strings must be UTF-8, and `bytes_beyond` (json_words.hpp) bytes follow the text, the first of them zero.
const char* skip_json(const char* text, std::size_t levels);

}  // namespace api
