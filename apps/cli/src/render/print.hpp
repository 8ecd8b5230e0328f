#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace cli {

enum class Format { yaml, json };

/// Returns YAML documents with "---" between them, or one List as JSON. Equal objects give equal text.
std::string print(const std::vector<api::Json>& objects, Format format);

/// Returns a Secret with each value replaced by "***".
api::Json masked(api::Json object);

/// Returns a unified diff, with some lines around each change; empty for equal texts.
std::string difference(const std::string& before_name, const std::string& before,
                       const std::string& after_name, const std::string& after);

}  // namespace cli
