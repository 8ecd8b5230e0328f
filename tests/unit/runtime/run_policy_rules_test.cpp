// What admission says of times to live and deadlines.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;
using runtime::Gate;
using runtime::Gates;

namespace {

using Texts = std::vector<std::string>;

const api::Time now = api::parse_time("2026-01-15T10:00:00Z").value();

Texts texts(const api::Warnings& warnings) {
    Texts found;
    for (const api::Warning& warning : warnings) {
        CHECK(warning.text.size() <= 120);
        found.push_back(std::string(warning.rule.name()) + ": " + warning.text);
    }
    return found;
}

Texts texts(const api::FieldErrors& errors) {
    Texts found;
    for (const api::FieldError& error : errors)
        found.push_back(std::string(error.rule.name()) + " " + error.field + ": " + body(error));
    return found;
}

runtime::ValidationResult review_runtime(const Json& object, const Json& before = {}) {
    return runtime::validate_runtime(object, before, runtime::default_pipeline(), Gates::all());
}

runtime::ValidationResult review_job(const Json& object, const Json& before,
                                     const Json& of = plain_runtime()) {
    return runtime::validate_train_job(
        {.object = object, .old_object = before, .runtime = &of, .gates = Gates::all(), .now = now});
}

Json ended_job(const char* at) {
    const std::string conditions =
        "[{type: Complete, status: \"True\", lastTransitionTime: \"" + std::string(at) + "\"}]";
    return changed(train_job(), {{"status.conditions", conditions.c_str()}});
}

}  // namespace

TEST_CASE("a new TrainJob's deadline is at most the maximum of its runtime", "[admission]") {
    const Json of = changed(plain_runtime(), {{"spec.runPolicy.maxActiveDeadlineSeconds", "60"},
                                              {"spec.runPolicy.activeDeadlineSeconds", "30"}});
    const auto job = [](const char* deadline) {
        return changed(train_job(), {{"spec.activeDeadlineSeconds", deadline}});
    };
    CHECK(texts(review_job(job("60"), {}, of).errors).empty());
    CHECK(texts(review_job(train_job(), {}, of).errors).empty());
    CHECK(texts(review_job(job("61"), {}, of).errors) ==
          Texts{"deadline_maximum spec.activeDeadlineSeconds: Invalid value: 61: must be at most 60, the "
                "maximum of ClusterTrainingRuntime runtime"});
    // The cluster of the manager has another maximum. A copy that is refused would never start.
    const Json copy =
        changed(job("61"), {{"metadata.labels", "{kueue.x-k8s.io/multikueue-origin: manager}"}});
    CHECK(texts(review_job(copy, {}, of).errors).empty());
    // The runtime was edited since.
    const Json labelled = changed(job("61"), {{"metadata.labels", "{a: b}"}, {"spec.suspend", "true"}});
    CHECK(texts(review_job(labelled, job("61"), of).errors).empty());
    CHECK(texts(review_job(changed(labelled, {{"spec.runtimePatches", "[{manager: a.io/b}]"}}),
                           changed(job("61"), {{"spec.suspend", "true"}}), of)
                    .errors)
              .empty());
}

TEST_CASE("a runtime's default deadline is at most its maximum", "[admission]") {
    const auto with = [](const char* policy) {
        return changed(plain_runtime(), {{"spec.runPolicy", policy}});
    };
    const Json wrong = with("{activeDeadlineSeconds: 61, maxActiveDeadlineSeconds: 60}");
    const Texts error = {
        "deadline_order spec.runPolicy.activeDeadlineSeconds: Invalid value: 61: must be at most "
        "maxActiveDeadlineSeconds, 60"};
    CHECK(texts(review_runtime(wrong).errors) == error);
    CHECK(texts(review_runtime(wrong, plain_runtime()).errors) == error);
    CHECK(texts(review_runtime(wrong, wrong).errors).empty());
    CHECK(texts(review_runtime(wrong, with("{activeDeadlineSeconds: 61, maxActiveDeadlineSeconds: 59}"))
                    .errors) == error);
    CHECK(texts(review_runtime(with("{activeDeadlineSeconds: 60, maxActiveDeadlineSeconds: 60}")).errors)
              .empty());
    CHECK(texts(review_runtime(with("{activeDeadlineSeconds: 61}")).errors).empty());
    CHECK(texts(review_runtime(with("{maxActiveDeadlineSeconds: 1}")).errors).empty());
}

TEST_CASE("a runtime's time to live is at most its maximum", "[admission]") {
    const auto with = [](const char* policy, const char* ttl = "-") {
        return changed(plain_runtime(), {{"spec.runPolicy", policy}, {"spec.ttlSecondsAfterFinished", ttl}});
    };
    const auto error = [](const char* path) {
        return Texts{"ttl_order " + std::string(path) +
                     ": Invalid value: 61: must be at most maxTtlSecondsAfterFinished, 60"};
    };
    const Json wrong = with("{ttlSecondsAfterFinished: 61, maxTtlSecondsAfterFinished: 60}");
    const Texts of_policy = error("spec.runPolicy.ttlSecondsAfterFinished");
    CHECK(texts(review_runtime(wrong).errors) == of_policy);
    CHECK(texts(review_runtime(wrong, plain_runtime()).errors) == of_policy);
    CHECK(texts(review_runtime(wrong, wrong).errors).empty());
    CHECK(texts(review_runtime(with("{maxTtlSecondsAfterFinished: 60}", "61")).errors) ==
          error("spec.ttlSecondsAfterFinished"));
    // The policy's counts.
    CHECK(texts(review_runtime(with("{ttlSecondsAfterFinished: 60, maxTtlSecondsAfterFinished: 60}", "61"))
                    .errors)
              .empty());
    CHECK(texts(review_runtime(with("{maxTtlSecondsAfterFinished: 0}")).errors).empty());
    CHECK(texts(review_runtime(with("{ttlSecondsAfterFinished: 61}")).errors).empty());
}

TEST_CASE("a warning tells that the runtime's maximum cuts a TrainJob's time to live", "[admission]") {
    const Json of = changed(plain_runtime(), {{"spec.runPolicy.maxTtlSecondsAfterFinished", "60"}});
    const auto with = [](const Json& job, const char* ttl) {
        return changed(job, {{"spec.ttlSecondsAfterFinished", ttl}});
    };
    const auto warning = [](const char* most) {
        return Texts{"ttl_cut: spec.ttlSecondsAfterFinished: the TrainJob is deleted after " +
                     std::string(most) + "s, the maximum of its runtime"};
    };
    CHECK(texts(review_job(with(train_job(), "61"), {}, of).warnings) == warning("60"));
    CHECK(texts(review_job(with(train_job(), "60"), {}, of).warnings).empty());
    CHECK(texts(review_job(train_job(), {}, of).warnings).empty());
    CHECK(texts(review_job(with(train_job(), "61"), {}).warnings).empty());
    // What the job began with rules, and no other runtime is asked.
    const Json begun = changed(train_job(), {{"status.runPolicy.maxTtlSecondsAfterFinished", "50"}});
    CHECK(texts(review_job(with(begun, "51"), begun, of).warnings) == warning("50"));
    CHECK(texts(review_job(with(begun, "50"), begun, of).warnings).empty());
    CHECK(texts(review_job(with(begun, "51"), with(begun, "51"), of).warnings).empty());
    for (const Change& kept : {Change{"spec.managedBy", "kueue.x-k8s.io/multikueue"},
                               Change{"metadata.labels", "{kueue.x-k8s.io/multikueue-origin: a}"}}) {
        const Json other = changed(begun, {kept});
        CHECK(texts(review_job(with(other, "51"), other).warnings).empty());
    }
    // It is the cut one that has passed.
    const Json ended =
        changed(ended_job("2026-01-15T09:59:00Z"), {{"status.runPolicy.maxTtlSecondsAfterFinished", "60"}});
    CHECK(texts(review_job(with(ended, "3600"), ended).warnings) ==
          Texts{"ttl_passed: spec.ttlSecondsAfterFinished: the TrainJob ended 60s ago: it is deleted at once",
                warning("60").front()});
}

TEST_CASE("a runtime's policy that is no object is refused", "[admission]") {
    CHECK(texts(review_runtime(changed(plain_runtime(), {{"spec.runPolicy", "[]"}})).errors) ==
          Texts{"malformed spec.runPolicy: Invalid value: null: must be an object"});
}

TEST_CASE("a warning tells which of a runtime's two times to live counts", "[admission]") {
    const auto with = [](const char* one, const char* other) {
        return changed(plain_runtime(), {{"spec.runPolicy.ttlSecondsAfterFinished", one},
                                         {"spec.ttlSecondsAfterFinished", other}});
    };
    const Texts warning = {
        "two_ttls: spec.runPolicy.ttlSecondsAfterFinished counts, and not the other one, "
        "spec.ttlSecondsAfterFinished"};
    CHECK(texts(review_runtime(with("5", "6")).warnings) == warning);
    CHECK(texts(review_runtime(with("5", "6"), with("5", "5")).warnings) == warning);
    CHECK(texts(review_runtime(with("5", "6"), with("5", "6")).warnings).empty());
    CHECK(texts(review_runtime(with("5", "5")).warnings).empty());
}

TEST_CASE("a warning tells that a runtime's new time to live ends nothing that has begun", "[admission]") {
    const auto with = [](const char* one, const char* other) {
        return changed(plain_runtime(), {{"spec.runPolicy.ttlSecondsAfterFinished", one},
                                         {"spec.ttlSecondsAfterFinished", other}});
    };
    const std::string counts =
        "ttlSecondsAfterFinished counts for TrainJobs that begin now; others keep the longer TTL of then and "
        "now";
    const Texts of_policy = {"ttl_changed: spec.runPolicy." + counts};
    CHECK(texts(review_runtime(with("5", "-"), plain_runtime()).warnings) == of_policy);
    CHECK(texts(review_runtime(with("5", "-"), with("6", "-")).warnings) == of_policy);
    CHECK(texts(review_runtime(with("-", "5"), with("-", "6")).warnings) ==
          Texts{"ttl_changed: spec." + counts});
    CHECK(texts(review_runtime(with("5", "-"), with("-", "5")).warnings).empty());
    CHECK(texts(review_runtime(with("5", "-"), with("5", "-")).warnings).empty());
    CHECK(texts(review_runtime(with("-", "-"), with("5", "-")).warnings).empty());
    CHECK(texts(review_runtime(with("5", "-")).warnings).empty());
}

TEST_CASE("a warning tells that a TrainJob's new time to live has passed", "[admission]") {
    const Json before = ended_job("2026-01-15T09:59:00Z");
    const auto given = [](const Json& job, const char* ttl) {
        return changed(job, {{"spec.ttlSecondsAfterFinished", ttl}});
    };
    const Texts warning = {
        "ttl_passed: spec.ttlSecondsAfterFinished: the TrainJob ended 60s ago: it is deleted at once"};
    CHECK(texts(review_job(given(before, "60"), before).warnings) == warning);
    CHECK(texts(review_job(given(before, "0"), given(before, "3600")).warnings) == warning);
    CHECK(texts(review_job(given(before, "61"), before).warnings).empty());
    CHECK(texts(review_job(given(before, "60"), given(before, "60")).warnings).empty());
    CHECK(texts(review_job(given(train_job(), "0"), train_job()).warnings).empty());
    // The runtime's time to live counts without a job's own.
    const auto removed = [&](const char* of_runtime, const char* manager) {
        const Json job = changed(
            before, {{"status.runPolicy.ttlSecondsAfterFinished", of_runtime}, {"spec.managedBy", manager}});
        return texts(review_job(job, given(job, "3600")).warnings);
    };
    const char* const ours = "trainer.kubeflow.org/trainjob-controller";
    const std::string lost =
        "lost_fields: spec loses ttlSecondsAfterFinished: if the client does not know that field, put it "
        "into "
        "--lossy-clients";
    const std::string passed =
        "ttl_passed: spec.ttlSecondsAfterFinished: the TrainJob ended 60s ago: its runtime "
        "deletes it, unless its TTL is longer now than 60s";
    CHECK(removed("60", ours) == Texts{lost, passed});
    CHECK(removed("60", "kueue.x-k8s.io/multikueue") == Texts{lost});
    CHECK(removed("61", ours) == Texts{lost});
    CHECK(removed("-", ours) == Texts{lost});
    for (const Change& kept : {Change{"metadata.deletionTimestamp", "\"2026-01-15T10:00:00Z\""},
                               Change{"metadata.labels", "{kueue.x-k8s.io/multikueue-origin: a}"}}) {
        const Json other = changed(before, {kept});
        CHECK(texts(review_job(given(other, "60"), other).warnings).empty());
    }
    const auto refused = runtime::validate_train_job({.object = given(before, "60"),
                                                      .old_object = before,
                                                      .gates = Gates::all().without(Gate::run_policy),
                                                      .now = now});
    CHECK(refused.errors.size() == 1);
    CHECK(refused.warnings.empty());
}

TEST_CASE("a TrainJob's time to live changes whatever has become of its runtime", "[admission]") {
    const Json before = train_job();
    for (const Json& job : {before, ended_job("2026-01-15T09:59:00Z")})
        for (const char* ttl : {"3600", "-"}) {
            const Json after = changed(job, {{"spec.ttlSecondsAfterFinished", ttl}});
            CHECK(runtime::lookups_for(after, job) == runtime::RequiredInputs());
            const auto findings = runtime::validate_train_job(
                {.object = after, .old_object = job, .gates = Gates::all(), .now = now});
            CHECK(findings == runtime::ValidationResult());
        }
}

TEST_CASE("a client that has lost a TrainJob's time to live is warned, and a lossy one gets it back",
          "[admission]") {
    for (const char* ttl : {"60", "0"}) {
        const Json before = changed(train_job(), {{"spec.ttlSecondsAfterFinished", ttl}});
        CHECK(
            texts(review_job(train_job(), before).warnings) ==
            Texts{"lost_fields: spec loses ttlSecondsAfterFinished: if the client does not know that field, "
                  "put it into --lossy-clients"});
        CHECK(runtime::default_train_job(train_job(), before, now).operations.empty());
        const auto mutation = runtime::default_train_job(train_job(), before, now, {.is_lossy = true});
        CHECK(mutation.restored ==
              std::vector<api::RestoredField>{{"ttlSecondsAfterFinished", "typed_client"}});
        REQUIRE(mutation.operations.size() == 1);
        CHECK(to_json(mutation.operations[0]) ==
              R"({"op":"add","path":"/spec/ttlSecondsAfterFinished","value":)" + std::string(ttl) + "}");
    }
}
