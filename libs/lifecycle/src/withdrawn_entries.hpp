#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace lifecycle {

const api::Json& pod_template(const api::Json& replicated_job);

/// The hash of an item of a list, as the note of what was withdrawn has it. Jobs leave out what is empty.
std::string hash_of(std::string_view job, std::string_view field, api::Json item);

/// What can be withdrawn of a Pod template, by its hash; in words: "label team".
using Entries = std::map<std::string, std::string>;
Entries entries_of(std::string_view job, const api::Json& pod_template);
Entries entries_of(const api::Json& job_set);

/// The hashes in the note on a JobSet.
std::set<std::string> noted_in(const api::Json& job_set);

}  // namespace lifecycle
