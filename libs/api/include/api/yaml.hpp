#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace api {

/// Parses one YAML document as Kubernetes does: quoted scalars are strings, plain ones are typed by YAML
/// 1.1's rules for null, booleans, integers and floats. Keys become strings, and must be unique. An empty
/// stream reads as null. Errors have line and column. Anchors and aliases that expand to more than a megabyte
/// are refused. A text that is JSON is read by parse_json().
Result<Json> parse_yaml(std::string_view text);

/// Parses as parse_yaml(), for untrusted text, which is not tried as JSON. It is refused unread if it can
/// have more than `most_tokens`, and parsed once; its last line counts as a whole one. A token takes 300
/// bytes while it is read, as long as a list or map in brackets is open, and a microsecond at worst.
Result<Json> parse_hostile_yaml(std::string_view text, std::size_t most_tokens);

/// Parses every document of a stream. Skips empty documents.
Result<std::vector<Json>> parse_yaml_documents(std::string_view text);

/// Writes block style with sorted keys. Quotes strings whose plain form would be read as something else.
std::string to_yaml(const Json& value);

/// The lines of a document's values, by path ("spec.trainer.env[3].name"). A member has the line of its key.
/// Lines count from 1. Values from an alias or from "<<" have no line.
using Lines = std::map<std::string, int, std::less<>>;

/// One document of a stream, and its position in the text.
struct LocatedDocument {
    Json value = {};
    int line = 1;
    Lines lines = {};  ///< empty for JSON that is not YAML
};

/// Parses as parse_yaml_documents(), and returns the lines of fields for messages.
Result<std::vector<LocatedDocument>> parse_located_yaml(std::string_view text);

/// Returns the line of a field, or of its nearest existing parent; `fallback` if that has no line either.
int line_of(const Lines& lines, std::string_view path, int fallback);

}  // namespace api
