// The text of a runtime's snapshot: a runtime that can be stored again, or an error. Also YAML alone.
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "cost.hpp"
#include "input.hpp"
#include "runtime/snapshot.hpp"

namespace {

void run(const std::uint8_t* data, std::size_t size) {
    using api::Json;
    const std::string_view text = text_of(data, size);
    if (const auto tree = api::parse_yaml(text)) {
        const auto again = api::parse_yaml(to_yaml(*tree));
        MUST_HOLD(again && *again == *tree);
    }
    (void)api::parse_yaml_documents(text);

    api::TrainJob job;
    job.meta.name = "job";
    job.meta.uid = "u";
    job.runtime_ref = {"trainer.kubeflow.org", "ClusterTrainingRuntime", "torch"};
    Json stored = runtime::make_snapshot(job, Json::object());
    stored["data"][api::snapshot_data_key] = text;
    const auto runtime = runtime::read_snapshot(stored, job);
    if (!runtime) return;
    const auto again = runtime::read_snapshot(runtime::make_snapshot(job, *runtime), job);
    MUST_HOLD(again.has_value());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 40000}, size, [&] { run(data, size); });
}
