// The rows of tests/data/rows: what the webhook has to say about objects that the schema lets through. What
// the schema refuses, tests/manifests/test_rows.py shows on a real API server.
#include "rows.hpp"

#include "fixtures.hpp"
#include "runtime/admission.hpp"

using api::Json;

namespace {

runtime::Findings review(const Row& row) {
    if (row.object["kind"].as_string() != "TrainJob")
        return runtime::review_runtime(row.object, row.old_object);
    const runtime::Lookups lookups = runtime::lookups_for(row.object, row.old_object);
    return runtime::review_train_job(
        {.object = row.object,
         .old_object = row.old_object,
         .runtime = lookups.runtime && !row.runtime.is_null() ? &row.runtime : nullptr,
         .job_set = lookups.job_set && row.job_set ? &*row.job_set : nullptr});
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
        for (const std::string& warning : findings.warnings)
            CHECK(warning.find(row.warns) != std::string::npos);
    }
}

TEST_CASE("defaulting a TrainJob stamps patches and nothing else, whatever the object looks like",
          "[admission]") {
    const auto now = api::parse_time("2026-01-15T10:00:00Z").value();
    for (const Row& row : all_rows()) {
        if (row.object["kind"].as_string() != "TrainJob") continue;
        INFO(row.name);
        Json stamped = row.object;
        for (const Json& operation : runtime::mutate_train_job(row.object, row.old_object, now)) {
            const std::string_view path = operation["path"].as_string();
            const std::string_view list = "/spec/runtimePatches/";
            REQUIRE(path.substr(0, list.size()) == list);
            const auto index = std::stoul(std::string(path.substr(list.size())));
            CHECK(path == std::string(list) + std::to_string(index) + "/time");
            CHECK(operation["op"] == "add");
            stamped["spec"]["runtimePatches"].items().at(index)["time"] = operation["value"];
        }
        CHECK(runtime::mutate_train_job(stamped, row.old_object, now).empty());
    }
}
