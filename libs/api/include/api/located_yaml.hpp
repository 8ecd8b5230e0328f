#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace api {

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
