#include "runtime/gates.hpp"

#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;
using runtime::Gate;
using runtime::Gates;

namespace {

struct GatedValue {
    Gate gate;
    const char* path;
    const char* value;
    const char* other;
};

std::string text(const api::FieldErrors& errors) {
    std::string line;
    for (const api::FieldError& error : errors)
        line += (line.empty() ? "" : ", ") + std::string(api::cause_reason(error.type)) + " " +
                std::string(error.rule.name()) + " " + error.field + ": " + error.detail;
    return line;
}

std::string refusal(const GatedValue& field, const char* rule) {
    return std::string("FieldValueForbidden ") + rule + " " + field.path + ": needs the feature gate " +
           std::string(name_of(field.gate));
}

// Returns the errors of the field `path` only.
std::string about(const std::string& path, api::FieldErrors errors) {
    api::FieldErrors kept;
    for (const api::FieldError& error : errors)
        if (error.field == path && (error.rule == "gated_field" || error.rule == "runtime_gated_field"))
            kept.push_back(error);
    return text(kept);
}

// `review(object, old_object, gates)` of an object without the field, with it, and with another value.
void check_gate(const GatedValue& field, const Json& without, const char* rule, auto review) {
    const Json with = changed(without, {{field.path, field.value}});
    const Json other = changed(without, {{field.path, field.other}});
    const auto said = [&](const Json& object, const Json& old_object, const Gates& gates) {
        return about(field.path, review(object, old_object, gates));
    };
    const Gates off = Gates::all().without(field.gate);
    const Gates on = Gates::none().with(field.gate);
    const std::string refused = refusal(field, rule);
    CHECK(said(with, Json(), off) == refused);
    CHECK(said(with, without, off) == refused);
    CHECK(said(other, with, off) == refused);
    CHECK(said(with, with, off).empty());
    CHECK(said(changed(with, {{"metadata.labels", "{a: b}"}}), with, off).empty());
    CHECK(said(without, with, off).empty());
    CHECK(said(with, Json(), on).empty());
    CHECK(said(other, with, on).empty());
}

}  // namespace

TEST_CASE("only gates that exist can be set, and the error lists them", "[gates]") {
    CHECK(runtime::check_gates({}));
    CHECK(runtime::check_gates({{"TrainJobStatus", false}, {"TrainJobEdits", true}}));
    const auto checked = runtime::check_gates({{"TrainJobStats", true}});
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message ==
          "--feature-gates: there is no gate \"TrainJobStats\"; there are TrainJobStatus, TrainJobRunPolicy, "
          "TrainJobFailurePolicy, TrainJobDynamicResourceAllocation, TrainJobEdits, "
          "TrainJobProgressDeadline");
}

TEST_CASE("a gate that needs another one cannot be on alone", "[gates]") {
    const auto alone = runtime::check_gates({{"TrainJobProgressDeadline", true}});
    REQUIRE_FALSE(alone);
    CHECK(alone.error().message ==
          "--feature-gates: TrainJobProgressDeadline=true needs TrainJobStatus=true");
    CHECK_FALSE(runtime::check_gates({{"TrainJobProgressDeadline", true}, {"TrainJobStatus", false}}));
    CHECK(runtime::check_gates({{"TrainJobProgressDeadline", true}, {"TrainJobStatus", true}}));
    CHECK(runtime::check_gates({{"TrainJobProgressDeadline", false}}));
}

TEST_CASE("named gates have their value, the others their default", "[gates]") {
    for (const Gate gate : {Gate::status, Gate::run_policy, Gate::failure_policy, Gate::resource_claims,
                            Gate::edits, Gate::progress_deadline}) {
        CAPTURE(name_of(gate));
        const std::string name(name_of(gate));
        const bool is_beta = gate == Gate::run_policy || gate == Gate::failure_policy || gate == Gate::edits;
        CHECK(Gates().has(gate) == is_beta);
        CHECK(Gates({{name, true}}) == Gates().with(gate));
        CHECK(Gates({{name, false}}) == Gates().without(gate));
        CHECK(Gates::all().without(gate) == Gates::all().without(gate));
        CHECK_FALSE(Gates::all().without(gate).has(gate));
    }
}

TEST_CASE("a TrainJob's field behind a gate that is off is neither set nor changed", "[gates]") {
    const GatedValue fields[] = {
        {Gate::run_policy, "spec.ttlSecondsAfterFinished", "60", "0"},
        {Gate::failure_policy, "spec.failurePolicy", "{maxRestarts: 1}", "{maxRestarts: 2}"},
        {Gate::resource_claims, "spec.trainer.resourceClaimsPerNode",
         "[{name: gpu, resourceClaimTemplateName: a}]", "[{name: gpu, resourceClaimTemplateName: b}]"},
    };
    const Json runtime = runtime_with("torch");
    for (const GatedValue& field : fields) DYNAMIC_SECTION(field.path) {
            check_gate(field, train_job(), "gated_field",
                       [&](const Json& object, const Json& old_object, const Gates& gates) {
                           return runtime::validate_train_job({.object = object,
                                                               .old_object = old_object,
                                                               .runtime = &runtime,
                                                               .gates = gates})
                               .errors;
                       });
        }
}

TEST_CASE("a runtime's field behind a gate that is off is neither set nor changed", "[gates]") {
    const GatedValue fields[] = {
        {Gate::run_policy, "spec.runPolicy.ttlSecondsAfterFinished", "60", "0"},
        {Gate::run_policy, "spec.runPolicy.maxTtlSecondsAfterFinished", "60", "61"},
        {Gate::run_policy, "spec.runPolicy.ttlAppliesTo", "All", "New"},
        {Gate::run_policy, "spec.runPolicy.activeDeadlineSeconds", "60", "61"},
        {Gate::run_policy, "spec.runPolicy.maxActiveDeadlineSeconds", "60", "61"},
        {Gate::run_policy, "spec.runPolicy.gracePeriodSeconds", "60", "0"},
        {Gate::run_policy, "spec.runPolicy.disruptionBudget", "true", "false"},
        {Gate::failure_policy, "spec.runPolicy.failurePolicy", "{maxRestarts: 1}", "{}"},
    };
    for (const char* kind : {"ClusterTrainingRuntime", "TrainingRuntime"})
        for (const GatedValue& field : fields) DYNAMIC_SECTION(kind << " " << field.path) {
                const Json runtime = changed(plain_runtime(), {{"kind", kind}});
                check_gate(field, runtime, "runtime_gated_field",
                           [](const Json& object, const Json& old_object, const Gates& gates) {
                               return runtime::validate_runtime(object, old_object,
                                                                runtime::default_pipeline(), gates)
                                   .errors;
                           });
            }
}

TEST_CASE("a TrainJob that is being deleted gets no field behind a gate that is off", "[gates]") {
    const Json before = changed(train_job(), {{"metadata.deletionTimestamp", "\"2026-01-15T10:00:00Z\""}});
    const Json after = changed(before, {{"spec.failurePolicy", "{maxRestarts: 1}"}});
    const auto review = [&](const Gates& gates) {
        return text(
            runtime::validate_train_job({.object = after, .old_object = before, .gates = gates}).errors);
    };
    CHECK(review(Gates::none()) ==
          "FieldValueForbidden gated_field spec.failurePolicy: needs the feature gate TrainJobFailurePolicy");
    CHECK(review(Gates::all()).empty());
}

TEST_CASE("a correction, and another number of nodes, need their gate", "[gates]") {
    const Json before =
        changed(train_job(),
                {{"status.conditions", "[{type: Created, status: \"False\", reason: JobsBuildFailed}]"}});
    const char* const patch =
        "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: "
        "{spec: {template: {spec: {serviceAccountName: a}}}}}]}}}}]";
    const Json after =
        changed(before, {{"spec.trainer", "{image: i, numNodes: 2}"}, {"spec.runtimePatches", patch}});
    const Json runtime = plain_runtime();
    const auto review = [&](const Json& old_object, const Gates& gates) {
        return text(runtime::validate_train_job(
                        {.object = after, .old_object = old_object, .runtime = &runtime, .gates = gates})
                        .errors);
    };
    const std::string needs = ": needs the feature gate TrainJobEdits";
    const std::string forbidden = "FieldValueForbidden gated_field ";
    CHECK(review(before, Gates::all()).empty());
    CHECK(review(before, Gates::all().without(Gate::edits)) ==
          forbidden + "spec.trainer.image" + needs + ", " + forbidden + "spec.runtimePatches[0]" + needs +
              ", " + forbidden + "spec.trainer.numNodes" + needs);
}
