#pragma once
#include <set>
#include <string>

#include "pipeline_case.hpp"

/// Where our specification, and not the original, decides what is wanted. Every group has its reason.
struct Override {
    const char* reason;
    std::set<std::string> cases;  ///< "mpi-*": all whose names begin so
    /// Turns the original's object into the one that is wanted.
    void (*change)(const PipelineCase& c, api::Json& object);
    std::string_view kind = "JobSet";  ///< of the objects to change
};

/// Where ours writes objects that the original does not.
struct Addition {
    const char* reason;
    std::set<std::string> cases;
    void (*add)(const PipelineCase& c, std::map<std::string, api::Json>& wanted);
};

/// nullptr if a case has none.
const Addition* find_addition(const std::string& case_name);
std::set<std::string> cases_with_additions();

/// Those of a case, in order of application; none: the original decides.
std::vector<const Override*> find_overrides(const std::string& case_name);

/// Of a case whose outcome is an error: the field that the error names. nullptr if it is to be built.
const char* refused_field(const std::string& case_name);

/// Of a case that is to be built where the original does not get to an outcome of use: the case in which what
/// it leaves out is written, of which the same is to come. Empty for others.
std::optional<PipelineCase> spelled_out(const PipelineCase& c);

/// Cases whose outcome is not decided by reading the snapshot and building; empty if it is.
std::string decided_elsewhere(const std::string& case_name);

/// All names that the lists above have, to notice those without a case.
std::set<std::string> named_cases();
