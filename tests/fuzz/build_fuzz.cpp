// Line 1: a runtime, line 2: a TrainJob, of any shape. The build returns objects, the same ones in a second
// build, or an error with a field.
#include "cost.hpp"
#include "input.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/build.hpp"
#include "runtime/validation.hpp"

namespace {

void run(const std::uint8_t* data, std::size_t size) {
    const auto trees = trees_of(text_of(data, size), 2);
    const api::Json& runtime = trees[0];
    const api::TrainJob job = api::parse_train_job(trees[1]);
    (void)runtime::validate_train_job({.object = trees[1], .old_object = api::Json(), .runtime = &runtime});
    const auto needed = runtime::needs(job, runtime);
    runtime::Inputs inputs = {.job = job, .runtime = runtime};
    if (needed.ssh_key_pair) inputs.ssh_key_pair.emplace();
    if (needed.curve_key_pair) inputs.curve_key_pair.emplace();
    const auto built = runtime::build(inputs);
    if (!built) {
        MUST_HOLD(built.error().code == api::Errc::invalid && !built.error().message.empty());
        return;
    }
    const auto again = runtime::build(inputs);
    MUST_HOLD(again && again->objects.size() == built->objects.size());
    for (std::size_t i = 0; i < built->objects.size(); ++i) {
        MUST_HOLD(again->objects[i].object == built->objects[i].object);
        const api::Json wanted = runtime::with_applied_hash(built->objects[i].object);
        MUST_HOLD(runtime::is_applied(wanted, wanted));
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 300, .nanoseconds_per_byte = 20000}, size, [&] { run(data, size); });
}
