#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace lifecycle {

const api::Json& pod_template(const api::Json& replicated_job);

/// Returns the hash of an item of a list for the note of withdrawn entries, without empty members: Jobs leave
/// them out.
std::string hash_of(std::string_view job, std::string_view field, api::Json item);

/// The entries of a Pod template that can be withdrawn: their texts ("label team") by their hashes.
using Entries = std::map<std::string, std::string>;
Entries entries_of(std::string_view job, const api::Json& pod_template);
Entries entries_of(const api::Json& job_set);

/// Returns the hashes in the note on a JobSet.
std::set<std::string> noted_in(const api::Json& job_set);

}  // namespace lifecycle
