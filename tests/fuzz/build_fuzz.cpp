// Line 1: a runtime, line 2: a TrainJob, of any shape: objects, the same ones again, or an error with a
// field.
#include "input.hpp"
#include "runtime/admission.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/build.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto trees = trees_of(text_of(data, size), 2);
    const api::Json& runtime = trees[0];
    const api::TrainJob job = api::parse_train_job(trees[1]);
    (void)runtime::review_train_job({.object = trees[1], .old_object = api::Json(), .runtime = &runtime});
    (void)runtime::needs(job, runtime);
    const auto built = runtime::build({.job = job, .runtime = runtime});
    if (!built) {
        MUST_HOLD(built.error().code == api::Errc::invalid && !built.error().message.empty());
        return 0;
    }
    const auto again = runtime::build({.job = job, .runtime = runtime});
    MUST_HOLD(again && again->objects == built->objects);
    for (const api::Json& object : built->objects) {
        const api::Json wanted = runtime::with_applied_hash(object);
        MUST_HOLD(runtime::is_applied(wanted, wanted));
    }
    return 0;
}
