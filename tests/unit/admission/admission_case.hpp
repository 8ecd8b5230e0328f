#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "api/json.hpp"

/// One directory of tests/data/admission (see its README.md): a request, and the objects that exist.
struct AdmissionCase {
    std::filesystem::path folder = {};
    std::string name = {};
    std::string operation = {};
    api::Json object = {};
    api::Json old_object = {};  ///< null on CREATE
    std::vector<api::Json> existing = {};
};

const std::vector<AdmissionCase>& all_admission_cases();

/// Returns the webhook's answer in the form of want.json: a mutating review if the kind has one, then a
/// validating review of its result.
api::Json answer_to(const AdmissionCase& c);
