#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace api {

/// The lines of a document's values, by path ("spec.trainer.env[3].name"): of a member that of its key. Count
/// from 1. What an alias or "<<" brings along has none of its own.
using Lines = std::map<std::string, int, std::less<>>;

/// One document of a stream, and where it stands in the text.
struct LocatedDocument {
    Json value = {};
    int line = 1;
    Lines lines = {};  ///< empty for JSON that is no YAML
};

/// As parse_yaml_documents(), with the lines of fields for messages.
Result<std::vector<LocatedDocument>> parse_located_yaml(std::string_view text);

/// The line of a field, or of what it would be in; `fallback` if even that is unknown.
int line_of(const Lines& lines, std::string_view path, int fallback);

}  // namespace api
