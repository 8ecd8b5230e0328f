#pragma once
#include <set>
#include <string>
#include <vector>

#include "admission_case.hpp"

/// Where our specification, and not the original, decides what is wanted. Every group has its reason.
struct AdmissionOverride {
    const char* reason;
    std::set<std::string> cases;
    void (*change)(const AdmissionCase& c, AdmissionOutcome& want);
};

const std::vector<AdmissionOverride>& admission_overrides();

/// Cases whose rules do not exist yet, with the reason. A case that passes must not be here.
struct Later {
    const char* reason;
    std::set<std::string> cases;
};

const std::vector<Later>& admission_cases_for_later();
