#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/job_set.hpp"
#include "api/json.hpp"

/// A row of tests/data/rows (README.md there), the part for the webhook.
struct Row {
    std::string name = {};      ///< "table: row"
    api::Json object = {};      ///< in stored form
    api::Json old_object = {};  ///< null on CREATE
    api::Json runtime = {};     ///< null: the table has none
    std::optional<api::JobSet> job_set = {};
    std::string loses = {};  ///< what a new JobSet would do; empty: it loses nothing

    bool asked = true;  ///< false: the schema refuses the object already, or it is the status that changes
    std::string errors =
        {};                 ///< "Reason field, Reason field" in order, as `described` writes it; empty: none
    std::string rule = {};  ///< of all errors; empty: not given
    std::string because = {};  ///< part of an error's text
    std::string warns = {};    ///< part of the one warning; empty: there is none

    // The schema's result.
    api::Json sent = {};                                         ///< not in stored form
    std::string refused = {};                                    ///< "Reason field"; empty: accepted
    std::string refused_because = {};                            ///< part of the error's text
    std::vector<std::pair<std::string, api::Json>> stored = {};  ///< values by path; null: absent
};

/// Returns the value at a path like "spec.env[0].name"; null if there is none.
api::Json value_at(const api::Json& object, std::string_view path);

/// Returns all rows of all tables, for each of their kinds.
const std::vector<Row>& all_rows();
