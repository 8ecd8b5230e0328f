#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/resource.hpp"
#include "runtime/pipeline.hpp"

namespace runtime {

struct PodSet;

/// An annotation of a job's template in a runtime, "true": its container "node" keeps the runtime's image.
inline constexpr std::string_view keeps_image_annotation = "trainer.kubeflow.org/keeps-image";

/// The plugins of a pipeline that are on for a runtime, in its order, and the combined properties of those in
/// the runtime's mlPolicy. Refers to the pipeline and the runtime.
class ActivePlugins {
public:
    ActivePlugins(const Pipeline& pipeline, const api::Json& runtime);

    auto begin() const { return plugins_.begin(); }
    auto end() const { return plugins_.end(); }
    const api::Json& ml_policy() const;  ///< null if the runtime has none
    const DeviceTable& devices() const { return devices_; }

    /// Returns whether the container "node" of a replicated job gets `spec.trainer.env`: the job has the
    /// trainer's label, or a framework trains on it as well.
    bool trains(const api::Json& replicated_job) const;
    bool trains(const PodSet& pods) const;
    /// Returns whether it gets `spec.trainer.resourcesPerNode`. Without an mlPolicy no job gets them, as in
    /// Kubeflow Trainer, on which Kueue relies.
    bool gets_resources_per_node(const api::Json& replicated_job) const;
    /// Returns whether the container "node" of a replicated job gets `spec.trainer.image`: it runs the
    /// program, and the runtime does not say that it keeps its own (keeps_image_annotation).
    bool takes_image(const api::Json& replicated_job) const;
    /// Returns whether processes of the program run in a replicated job.
    bool runs_program(const api::Json& replicated_job) const;
    /// Returns whether the Pods of a replicated job are nodes of the training: a launcher that only starts
    /// the processes on others is none.
    bool has_nodes(const api::Json& replicated_job) const;
    /// Returns whether `spec.trainer.numNodes` sets the number of Pods of the job.
    bool is_scaled(const api::Json& replicated_job) const;
    bool is_scaled(const PodSet& pods) const;
    std::int64_t scaled_pods(std::int64_t num_nodes) const;
    /// Returns PodSet::least.
    std::optional<std::int64_t> least_pods(const PodSet& pods) const;
    /// Returns whether `spec.trainer.numProcPerNode` has an effect on a job.
    bool takes_processes(const api::Json& replicated_job) const;
    /// Returns whether a plugin adds an init container of that name to the job's Pods.
    bool adds_container(std::string_view job, std::string_view name) const;
    bool depends_on_devices(const api::Json& trainer) const;
    /// Returns whether TrainJob or runtime say how many processes a node has.
    bool says_processes(const api::Json& trainer) const;
    bool counts_devices() const;
    /// Returns whether what is built differs from one resume of a TrainJob to the next.
    bool marks_runs() const;
    /// Returns the names of the claims that all nodes of a TrainJob share.
    std::vector<std::string_view> shared_claims() const;
    bool places_env() const;
    bool wraps_program() const;

private:
    bool trains(std::string_view ancestor, std::string_view job) const;
    bool is_scaled(std::string_view ancestor, std::string_view job) const;

    const api::Json& runtime_;
    const DeviceTable& devices_;
    std::vector<const Plugin*> plugins_ = {};
    const Plugin* scaling_ = nullptr;  // the first that names the job that is scaled
};

/// The jobs that get `spec.trainer.resourcesPerNode` and `resourceClaimsPerNode`: the one with the trainer's
/// label, and one of a framework. validate_template() denies runtimes with more of them. So of thousands of
/// such jobs, each of which would get all settings, only the first two count.
class Receivers {
public:
    explicit Receivers(const ActivePlugins& plugins) : plugins_(plugins) {}

    /// Returns whether the job gets them. Call it for each job of a template that can get them, in order.
    bool include(const api::Json& replicated_job) {
        if (left_ == 0 || !plugins_.gets_resources_per_node(replicated_job)) return false;
        --left_;
        return true;
    }

private:
    const ActivePlugins& plugins_;
    int left_ = 2;
};

/// Returns the kinds that plugins of the pipeline own: see Policy::owned_kind.
std::vector<api::Resource> owned_kinds(const Pipeline& pipeline = default_pipeline());

/// Checks that a runtime, before it is edited or read, consists of objects and lists as the schema requires,
/// the policies of the pipeline's plugins included.
api::Result<> check_runtime_shape(const api::Json& runtime, const Pipeline& pipeline);

}  // namespace runtime
