#pragma once
#include <string>

#include "api/json.hpp"
#include "api/time.hpp"

/// The time of tests about TrainJobs and their Pods, and how they write objects.
namespace cli {

inline const api::Time now = api::parse_time("2026-01-15T12:00:00Z").value();

inline api::Json parsed(const std::string& text) { return api::parse_json(text).value(); }

}  // namespace cli
