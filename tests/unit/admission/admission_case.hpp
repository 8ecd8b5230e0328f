#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "api/json.hpp"

/// One directory of tests/data/admission (see its README.md): a request, and what exists.
struct AdmissionCase {
    std::filesystem::path folder = {};
    std::string name = {};
    std::string operation = {};
    api::Json object = {};
    api::Json old_object = {};  ///< null on CREATE
    std::vector<api::Json> existing = {};
};

const std::vector<AdmissionCase>& all_admission_cases();

/// What our webhook answers, as want.json has it: a mutating review if the kind has one, then a validating
/// one of what it left.
api::Json answer_to(const AdmissionCase& c);
