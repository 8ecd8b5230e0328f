#pragma once
#include <set>
#include <string>

#include "pipeline_case.hpp"

/// Where our specification, and not the original, decides what is wanted. Every group has its reason.
struct Override {
    const char* reason;
    std::set<std::string> cases;
    /// Turns the original's JobSet into the one that is wanted; nullptr: an error is wanted.
    void (*change)(const PipelineCase& c, api::Json& job_set);
};

/// nullptr: the original decides.
const Override* find_override(const std::string& case_name);

/// Cases whose outcome is not decided by reading the snapshot and building; empty if it is.
std::string decided_elsewhere(const std::string& case_name);

/// All names that the lists above have, to notice those without a case.
std::set<std::string> named_cases();
