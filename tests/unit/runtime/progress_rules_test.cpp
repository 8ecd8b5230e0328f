// What admission says of the annotations of the progress deadline and the start deadline.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;
using runtime::Gate;
using runtime::Gates;

namespace {

runtime::ValidationResult review(const Json& object, const Json& before = {},
                                 const Gates& gates = Gates::all(), const Json& of = plain_runtime()) {
    return runtime::validate_train_job(
        {.object = object, .old_object = before, .runtime = &of, .gates = gates});
}

Json limited(const char* annotations) {
    return changed(train_job(), {{"metadata.annotations", annotations}});
}

const char* const minute = R"({trainer.kubeflow.org/progress-deadline-seconds: "60"})";
const char* const second = R"({trainer.kubeflow.org/progress-deadline-seconds: "1"})";
const char* const of_action =
    R"({trainer.kubeflow.org/progress-deadline-seconds: "60", trainer.kubeflow.org/progress-deadline-action: Fail})";
const char* const only_action = R"({trainer.kubeflow.org/progress-deadline-action: Fail})";

}  // namespace

TEST_CASE("a bad progress deadline is denied when it is new or changed", "[admission]") {
    CHECK(review(limited(minute)).errors.empty());
    CHECK(review(limited(of_action)).errors.empty());
    CHECK(review(limited(second)).errors.size() == 1);
    CHECK(review(limited(second), limited(minute)).errors.size() == 1);
    CHECK(review(limited(second), limited(second)).errors.empty());
    CHECK(review(limited(minute), limited(second)).errors.empty());
    CHECK(review(train_job(), limited(second)).errors.empty());
    CHECK(review(limited(only_action), limited(of_action)).errors.size() == 1);
    CHECK(describe(review(limited(only_action)).errors) ==
          "metadata.annotations[trainer.kubeflow.org/progress-deadline-action]: Invalid value: \"Fail\": has "
          "no "
          "effect without trainer.kubeflow.org/progress-deadline-seconds or "
          "trainer.kubeflow.org/start-deadline-seconds");
    // Its manager would try for ever.
    const Json copy =
        changed(limited(second), {{"metadata.labels", "{kueue.x-k8s.io/multikueue-origin: manager}"}});
    CHECK(review(copy).errors.empty());
    CHECK(review(limited(second), {}, Gates::none()).errors.size() == 1);
}

TEST_CASE("a progress deadline without its gate is warned of, and accepted", "[admission]") {
    const Gates off = Gates::all().without(Gate::progress_deadline);
    const runtime::ValidationResult found = review(limited(of_action), {}, off);
    CHECK(found.errors.empty());
    REQUIRE(found.warnings.size() == 1);
    CHECK(found.warnings.begin()->rule.name() == "progress_unwatched");
    CHECK(found.warnings.begin()->text ==
          "trainer.kubeflow.org/progress-deadline-seconds has no effect: it needs the feature gate "
          "TrainJobProgressDeadline");
    CHECK(found.warnings.begin()->text.size() <= 120);
    CHECK(review(limited(of_action), limited(minute), off).warnings.size() == 1);
    CHECK(review(limited(minute), limited(minute), off).warnings.empty());
    CHECK(review(train_job(), limited(minute), off).warnings.empty());
    CHECK(review(limited(minute)).warnings.empty());
    CHECK(review(limited(second), {}, off).warnings.empty());
    const auto of_start = review(limited(R"({trainer.kubeflow.org/start-deadline-seconds: "60"})"), {}, off);
    REQUIRE(of_start.warnings.size() == 1);
    CHECK(of_start.warnings.begin()->text ==
          "trainer.kubeflow.org/start-deadline-seconds has no effect: it needs the feature gate "
          "TrainJobProgressDeadline");
}

TEST_CASE("a restart that nothing restarts is warned of", "[admission]") {
    constexpr const char* restarts =
        R"({trainer.kubeflow.org/start-deadline-seconds: "60", trainer.kubeflow.org/progress-deadline-action: Restart})";
    const runtime::ValidationResult found = review(limited(restarts));
    CHECK(found.errors.empty());
    REQUIRE(found.warnings.size() == 1);
    CHECK(found.warnings.begin()->rule.name() == "restart_without_policy");
    CHECK(
        found.warnings.begin()->text ==
        "trainer.kubeflow.org/progress-deadline-action: the TrainJob has no failure policy: Restart ends it "
        "as Fail does");
    CHECK(found.warnings.begin()->text.size() <= 120);
    // It was said before, does not matter, or is not so.
    CHECK(review(limited(restarts), limited(restarts)).warnings.empty());
    CHECK(review(limited(of_action)).warnings.empty());
    CHECK(review(changed(limited(restarts), {{"spec.failurePolicy.maxRestarts", "1"}})).warnings.empty());
    const Json with_policy = changed(plain_runtime(), {{"spec.runPolicy.failurePolicy.maxRestarts", "1"}});
    CHECK(review(limited(restarts), {}, Gates::all(), with_policy).warnings.empty());
    const auto off = review(limited(restarts), {}, Gates::all().without(Gate::progress_deadline));
    CHECK(off.warnings.begin()->rule.name() == "progress_unwatched");
    CHECK(off.warnings.size() == 1);
    // Without its runtime, nothing is known.
    const Json suspends = changed(limited(restarts), {{"spec.suspend", "true"}});
    const auto unknown =
        runtime::validate_train_job({.object = suspends,
                                     .old_object = changed(train_job(), {{"spec.suspend", "false"}}),
                                     .gates = Gates::all()});
    CHECK(unknown.warnings.empty());
}
