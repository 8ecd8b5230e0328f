// The rows of tests/data/rows: what the webhook has to say about objects that the schema lets through. What
// the schema refuses, tests/cluster/admission/schemas/test_rows.py shows on a real API server.
#include "rows.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "fixtures.hpp"
#include "merge/json_patch.hpp"
#include "runtime/plugin.hpp"
#include "runtime/validation.hpp"
#include "support/places.hpp"

using api::Json;

namespace {

// With everything that can be tried out, so that all rules are there.
const runtime::Pipeline& whole_pipeline() {
    static const runtime::Pipeline pipeline =
        runtime::make_pipeline({.status_server = runtime::StatusServer{}});
    return pipeline;
}

runtime::Findings review(const Row& row) {
    if (row.object["kind"].as_string() != "TrainJob")
        return runtime::validate_runtime(row.object, row.old_object, whole_pipeline());
    const runtime::RequiredInputs lookups = runtime::lookups_for(row.object, row.old_object);
    return runtime::validate_train_job(
        {.object = row.object,
         .old_object = row.old_object,
         .runtime = lookups.runtime && !row.runtime.is_null() ? &row.runtime : nullptr,
         .job_set = lookups.job_set && row.job_set ? &*row.job_set : nullptr},
        whole_pipeline());
}

std::string described(const api::FieldErrors& errors) {
    std::string line;
    for (const api::FieldError& error : errors)
        line += (line.empty() ? "" : ", ") + std::string(api::cause_reason(error.type)) + " " + error.field;
    return line;
}

}  // namespace

TEST_CASE("the webhook says what the rows say", "[admission]") {
    for (const Row& row : all_rows()) {
        INFO(row.name);
        const runtime::Findings findings =
            review(row);  // those of refused objects as well: nothing may crash
        if (!row.asked) continue;
        CHECK(described(findings.errors) == row.errors);
        INFO(api::describe(findings.errors));
        CHECK(api::describe(findings.errors).find(row.because) != std::string::npos);
        CHECK(findings.warnings.size() == (row.warns.empty() ? 0 : 1));
        for (const api::Warning& warning : findings.warnings)
            CHECK(warning.text.find(row.warns) != std::string::npos);
    }
}

TEST_CASE("errors say which rule they are of, and every rule refuses some row", "[admission]") {
    std::set<std::string> seen;
    for (const Row& row : all_rows()) {
        INFO(row.name);
        for (const api::FieldError& error : review(row).errors) {
            INFO(describe(api::FieldErrors{error}));
            CHECK_FALSE(error.rule.empty());
            if (!row.rule.empty()) CHECK(error.rule == row.rule);
            seen.emplace(error.rule);
        }
    }
    // The table of rules that readers of the metric find.
    std::ifstream guide(test::source() / "docs/webhook-limits.md");
    std::string line;
    std::set<std::string> explained;
    const std::regex name("`([a-z_]+)`");
    while (std::getline(guide, line) && line != "| Rule | What is denied |") continue;
    while (std::getline(guide, line) && line.starts_with('|')) {
        line.resize(line.find('|', 1));
        for (std::sregex_iterator at(line.begin(), line.end(), name), end; at != end; ++at)
            explained.insert((*at)[1]);
    }
    CHECK(seen == explained);
}

TEST_CASE("defaulting a TrainJob stamps patches or says again what is stored, whatever the object looks like",
          "[admission]") {
    const auto now = api::parse_time("2026-01-15T10:00:00Z").value();
    for (const Row& row : all_rows()) {
        if (row.object["kind"].as_string() != "TrainJob") continue;
        INFO(row.name);
        Json stamped = row.object;
        for (const Json& operation : runtime::default_train_job(row.object, row.old_object, now).operations) {
            const std::string_view path = operation["path"].as_string();
            CHECK(operation["op"] == "add");
            if (!path.ends_with("/time")) {
                REQUIRE(path == "/spec/trainer");
                CHECK(operation["value"] == row.old_object["spec"]["trainer"]);
            }
            REQUIRE(merge::apply_operations({operation}, stamped));
        }
        CHECK(runtime::default_train_job(stamped, row.old_object, now).operations.empty());
    }
}
