#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/resource.hpp"
#include "runtime/pipeline.hpp"

namespace runtime {

struct PodSet;

/// The plugins of a pipeline that are on for a runtime, in its order, and what those of the runtime's
/// mlPolicy say together. Refers to the pipeline and the runtime.
class ActivePlugins {
public:
    ActivePlugins(const Pipeline& pipeline, const api::Json& runtime);

    auto begin() const { return plugins_.begin(); }
    auto end() const { return plugins_.end(); }
    const api::Json& ml_policy() const;  ///< null if the runtime has none

    /// Whether the container "node" of a replicated job gets `spec.trainer.env`: the job with the trainer's
    /// label, and those that a framework trains on as well.
    bool trains(const api::Json& replicated_job) const;
    bool trains(const PodSet& pods) const;
    /// Whether it gets `spec.trainer.resourcesPerNode`. Without an mlPolicy Kubeflow Trainer gives them to no
    /// job, and Kueue relies on that.
    bool gets_resources_per_node(const api::Json& replicated_job) const;
    /// Whether `spec.trainer.numNodes` counts the Pods of the job.
    bool is_scaled(const api::Json& replicated_job) const;
    bool is_scaled(const PodSet& pods) const;
    std::int64_t scaled_pods(std::int64_t num_nodes) const;
    /// Whether a job takes `spec.trainer.numProcPerNode`.
    bool takes_processes(const api::Json& replicated_job) const;
    bool counts_gpus() const;
    bool places_env() const;

private:
    bool trains(std::string_view ancestor, std::string_view job) const;
    bool is_scaled(std::string_view ancestor, std::string_view job) const;

    const api::Json& runtime_;
    std::vector<const Plugin*> plugins_ = {};
    const Plugin* scaling_ = nullptr;  // the first that names the job that is scaled
};

/// The kinds that plugins of the pipeline own: see Policy::owned_kind.
std::vector<api::Resource> owned_kinds(const Pipeline& pipeline = default_pipeline());

/// Returns an error unless all of a runtime that is edited or read consists of objects and lists where it
/// should, the policies of the pipeline's plugins included.
api::Result<> check_runtime_shape(const api::Json& runtime, const Pipeline& pipeline);

}  // namespace runtime
