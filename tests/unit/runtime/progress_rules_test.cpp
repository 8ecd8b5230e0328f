// What admission says of the annotations of the progress deadline.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;
using runtime::Gate;
using runtime::Gates;

namespace {

runtime::Findings review(const Json& object, const Json& before = {}, const Gates& gates = Gates::all()) {
    const Json of = plain_runtime();
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
          "effect without trainer.kubeflow.org/progress-deadline-seconds");
    // Its manager would try for ever.
    const Json copy =
        changed(limited(second), {{"metadata.labels", "{kueue.x-k8s.io/multikueue-origin: manager}"}});
    CHECK(review(copy).errors.empty());
    CHECK(review(limited(second), {}, Gates::none()).errors.size() == 1);
}

TEST_CASE("a progress deadline without its gate is warned of, and accepted", "[admission]") {
    const Gates off = Gates::all().without(Gate::progress_deadline);
    const runtime::Findings found = review(limited(of_action), {}, off);
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
}
