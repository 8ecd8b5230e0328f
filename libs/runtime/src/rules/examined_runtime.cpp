#include "runtime/examined_runtime.hpp"

#include <utility>

#include "runtime/validation.hpp"

namespace runtime {
namespace {

const api::Json nothing;

}  // namespace

ExaminedRuntime::ExaminedRuntime(api::Json object, const Pipeline& pipeline)
    : object_(std::move(object)),
      shape_(check_runtime_shape(object_, pipeline)),
      plugins_(pipeline, shape_ ? object_ : nothing),
      needs_(runtime::review_needs(object_, pipeline)) {}

}  // namespace runtime
