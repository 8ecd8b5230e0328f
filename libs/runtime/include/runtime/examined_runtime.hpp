#pragma once
#include <vector>

#include "api/json.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/build.hpp"

namespace runtime {

/// A runtime, and what reviews of TrainJobs need that follows from it alone. So it is worked out once for all
/// of them. Owns the object; the pipeline must outlive it. Thread rule: const access from several threads is
/// safe.
class ExaminedRuntime {
public:
    explicit ExaminedRuntime(api::Json object, const Pipeline& pipeline = default_pipeline());
    ExaminedRuntime(const ExaminedRuntime&) = delete;
    ExaminedRuntime& operator=(const ExaminedRuntime&) = delete;

    const api::Json& object() const { return object_; }
    /// Returns the result of check_runtime_shape().
    const api::Result<>& shape() const { return shape_; }
    /// Returns the plugins that are on for it; none if its shape is wrong.
    const ActivePlugins& plugins() const { return plugins_; }
    /// Returns the objects that Plugin::add_review_needs() adds; none if its shape is wrong.
    const std::vector<Need>& review_needs() const { return needs_; }

private:
    const api::Json object_;
    const api::Result<> shape_;
    const ActivePlugins plugins_;
    const std::vector<Need> needs_;
};

}  // namespace runtime
