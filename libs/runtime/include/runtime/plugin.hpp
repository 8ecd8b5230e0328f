#pragma once
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "runtime/build.hpp"
#include "runtime/conditions.hpp"
#include "runtime/info.hpp"

namespace runtime {

/// What a plugin's admission rules look at: a TrainJob with its runtime.
struct ValidationInputs {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json&
        merged_spec;  ///< `template.spec` of the runtime with the TrainJob's patches; null if they fail
    const std::vector<api::Json>* observed = nullptr;  ///< nullptr: nobody has looked
};

/// What a plugin's needs follow from.
struct NeedsContext {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& merged_spec;  ///< as in ValidationInputs
    const std::vector<api::Json>& observed;
};

/// One concern of turning a TrainJob into objects: a framework, a way of gang scheduling. Every hook does
/// nothing by default. Plugins have settings at most, and no state: one instance serves every TrainJob, on
/// any thread. The hooks run one after the other, each for all plugins in the order of the pipeline.
class Plugin {
public:
    virtual ~Plugin() = default;
    virtual std::string_view name() const = 0;

    /// Adds what must be observed before build. Depends on the context and nothing else.
    virtual void add_needs(const NeedsContext&, Needs&) const {}
    /// Adds what validate() must be shown if it exists. TrainJobs cannot change what it follows from.
    virtual void add_review_needs(const api::Json& /*runtime*/, std::vector<Need>&) const {}
    /// Whether a runtime with this `mlPolicy` is built by the number of GPUs, so that claims need a look.
    virtual bool counts_gpus(const api::Json& /*ml_policy*/) const { return false; }
    /// The admission rule whose errors validate() adds, where they say no other; "" if it adds none.
    virtual std::string_view rule() const { return {}; }
    /// Adds what is wrong with a TrainJob, besides what concerns every one of them.
    virtual void validate(const ValidationInputs&, api::FieldErrors&) const {}
    /// Adds what is wrong with a runtime.
    virtual void validate_runtime(const api::Json& /*runtime*/, api::FieldErrors&) const {}

    /// Counts, environment, ports, volumes and commands of a framework.
    virtual api::Result<> enforce_ml_policy(const Inputs&, Info&) const { return {}; }
    /// Labels and annotations that make Pods a gang.
    virtual api::Result<> enforce_pod_group_policy(const Inputs&, Info&) const { return {}; }
    /// What the Pods of any framework get.
    virtual api::Result<> enforce_pod_spec(const Inputs&, Info&) const { return {}; }
    /// Appends objects, complete but for what every one of them gets (namespace, owner). Counts are final
    /// here.
    virtual api::Result<> build(const Inputs&, Info&, Built&) const { return {}; }

    /// Whether it has conditions to add: the next two are asked only then.
    virtual bool has_conditions() const { return false; }
    /// Adds what add_conditions() must be shown if it exists, in every pass.
    virtual void add_condition_needs(const api::TrainJob&, std::vector<Need>&) const {}
    /// Adds conditions of its own to the TrainJob's status, also while the JobSet runs. One that is not added
    /// any more stays as it was.
    virtual void add_conditions(const ConditionsContext&, std::vector<api::Condition>&) const {}
};

}  // namespace runtime
