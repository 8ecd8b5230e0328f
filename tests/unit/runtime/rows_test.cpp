// The rows of tests/data/rows: the webhook's verdicts on objects that the schema accepts. For objects that
// the schema refuses, tests/cluster/admission/schemas/test_rows.py asks a real API server.
#include "rows.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "fixtures.hpp"
#include "merge/json_patch.hpp"
#include "runtime/plugin.hpp"
#include "runtime/rule.hpp"
#include "runtime/validation.hpp"
#include "support/places.hpp"

using api::Json;

namespace {

// With all feature gates on, so that all rules run.
const runtime::Pipeline& whole_pipeline() {
    static const runtime::Pipeline pipeline =
        runtime::make_pipeline({.status_server = runtime::StatusServer{}});
    return pipeline;
}

runtime::ValidationResult review(const Row& row) {
    if (row.object["kind"].as_string() != "TrainJob")
        return runtime::validate_runtime(row.object, row.old_object, whole_pipeline(), runtime::Gates::all());
    const runtime::RequiredInputs lookups = runtime::lookups_for(row.object, row.old_object);
    return runtime::validate_train_job(
        {.object = row.object,
         .old_object = row.old_object,
         .runtime = lookups.runtime && !row.runtime.is_null() ? &row.runtime : nullptr,
         .job_set = lookups.job_set && row.job_set ? &*row.job_set : nullptr,
         .loss_by_new_job_set = row.loses,
         .gates = runtime::Gates::all(),
         .now = api::parse_time("2026-01-16T10:00:00Z").value()},
        whole_pipeline());
}

std::string described(const api::FieldErrors& errors) {
    std::string line;
    for (const api::FieldError& error : errors)
        line += (line.empty() ? "" : ", ") + std::string(api::cause_reason(error.type)) + " " + error.field;
    return line;
}

// Rules that need a feature of the rows to be off.
std::set<std::string> rules_of_gates() {
    const Json job = changed(train_job(), {{"spec.failurePolicy", "{maxRestarts: 1}"}});
    const Json runtime = changed(plain_runtime(), {{"spec.runPolicy", "{failurePolicy: {maxRestarts: 1}}"}});
    std::set<std::string> rules;
    for (const api::FieldErrors& errors :
         {runtime::validate_train_job(
              {.object = job, .old_object = Json(), .runtime = &runtime, .gates = runtime::Gates::none()})
              .errors,
          runtime::validate_runtime(runtime, Json(), whole_pipeline(), runtime::Gates::none()).errors})
        for (const api::FieldError& error : errors) rules.emplace(error.rule.name());
    return rules;
}

// The rules that deny, or those that warn.
std::set<std::string> registered(bool denies) {
    std::set<std::string> names;
    const auto add = [&](const api::RuleId& rule) {
        INFO(rule.name());
        CHECK(names.emplace(rule.name()).second);
    };
    for (const runtime::RuleRow& row : runtime::rule_rows)
        if (row.denies == denies) add(row.id);
    if (denies)
        for (const auto& plugin : whole_pipeline())
            for (const api::RuleId& rule : plugin->rules()) add(rule);
    if (denies) return names;
    std::set<std::string> of_plugins;  // which may share some
    for (const auto& plugin : whole_pipeline())
        for (const api::RuleId& rule : plugin->warning_rules()) of_plugins.emplace(rule.name());
    for (const std::string& name : of_plugins) {
        INFO(name);
        CHECK(names.insert(name).second);
    }
    return names;
}

// Returns the names in the first column of a table of docs/design/admission.md.
std::set<std::string> explained(const std::string& header) {
    std::ifstream guide(test::source() / "docs/design/admission.md");
    std::string line;
    std::set<std::string> names;
    const std::regex name("`([a-z_]+)`");
    while (std::getline(guide, line) && line != header) continue;
    while (std::getline(guide, line) && line.starts_with('|')) {
        line.resize(line.find('|', 1));
        for (std::sregex_iterator at(line.begin(), line.end(), name), end; at != end; ++at)
            names.insert((*at)[1]);
    }
    return names;
}

}  // namespace

TEST_CASE("the webhook's verdicts match the rows", "[admission]") {
    for (const Row& row : all_rows()) {
        INFO(row.name);
        const runtime::ValidationResult findings =
            review(row);  // also those of refused objects: none may cause a crash
        if (!row.asked) continue;
        CHECK(described(findings.errors) == row.errors);
        INFO(api::describe(findings.errors));
        CHECK(api::describe(findings.errors).find(row.because) != std::string::npos);
        CHECK(findings.warnings.size() == (row.warns.empty() ? 0 : 1));
        for (const api::Warning& warning : findings.warnings)
            CHECK(warning.text.find(row.warns) != std::string::npos);
    }
}

TEST_CASE("a warning is short, and an update that changes nothing of what it is about has none",
          "[admission]") {
    std::set<std::string_view> warned;
    for (const Row& row : all_rows()) {
        INFO(row.name);
        const auto findings = review(row);
        for (const api::Warning& warning : findings.warnings) {
            CHECK(warning.text.size() <= (warning.text.find("https://") == std::string::npos ? 120 : 256));
            warned.insert(warning.rule.name());
        }
        if (findings.warnings.empty() || !findings.errors.empty()) continue;
        Row again = row;
        again.old_object = row.object;
        CHECK(review(again).warnings.empty());
        again.object["metadata"]["labels"]["example.com/team"] = "a";
        CHECK(review(again).warnings.empty());
    }
    CHECK(warned.size() >= 10);
}

TEST_CASE("errors name their rule, and every rule refuses some row", "[admission]") {
    std::set<std::string> seen = rules_of_gates();
    for (const Row& row : all_rows()) {
        INFO(row.name);
        for (const api::FieldError& error : review(row).errors) {
            INFO(describe(api::FieldErrors{error}));
            CHECK_FALSE(error.rule.empty());
            if (!row.rule.empty()) CHECK(error.rule == row.rule);
            seen.emplace(error.rule.name());
        }
    }
    CHECK(seen == registered(true));
}

TEST_CASE("the guide explains every rule, under its name", "[admission]") {
    CHECK(explained("| Rule | Denies |") == registered(true));
    CHECK(explained("| Warning | Says |") == registered(false));
    for (const std::string& name : registered(true)) CHECK_FALSE(registered(false).contains(name));
}

TEST_CASE("defaulting a TrainJob only sets time stamps and restores stored values, for any object",
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
