#pragma once
#include <set>
#include <string>
#include <vector>

#include "api/json.hpp"

/// One directory of tests/data/admission: a request, and what exists.
struct AdmissionCase {
    std::string name = {};
    std::string operation = {};
    api::Json object = {};
    api::Json old_object = {};  ///< null on CREATE
    std::vector<api::Json> existing = {};
    api::Json want = {};  ///< what the original answers
};

/// What is compared: of warnings and errors, not their texts.
struct AdmissionOutcome {
    bool allowed = true;
    std::size_t warnings = 0;
    std::vector<std::string> fields = {};  ///< in lower case, sorted; identical errors once
    std::set<std::string> types = {};      ///< "Invalid value", "Forbidden", ...
    api::Json object = {};                 ///< after mutation, without what is empty; null: any

    bool operator==(const AdmissionOutcome&) const = default;
};

const std::vector<AdmissionCase>& all_admission_cases();

/// What the original answers.
AdmissionOutcome wanted_outcome(const AdmissionCase& c);
/// What our webhook answers: a mutating review if the kind has one, then a validating one of what it left.
AdmissionOutcome our_outcome(const AdmissionCase& c);

std::ostream& operator<<(std::ostream& out, const AdmissionOutcome& outcome);
