#include "relay.hpp"

namespace runtime {

Pipeline pipeline_with_relay() {
    Pipeline pipeline = make_pipeline({});
    pipeline.plugins.insert(pipeline.end() - 1, make_relay());
    return pipeline;
}

}  // namespace runtime
