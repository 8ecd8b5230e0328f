#pragma once
#include <string>

#include "api/json.hpp"
#include "text/tone.hpp"

namespace cli {

/// The position of a TrainJob in its queue, by Kueue's Workload.
struct QueueStanding {
    std::string text = {};  ///< "waits: couldn't assign flavors ...", "admitted by the ClusterQueue gpus"
    Tone tone = Tone::held;
};

/// `workload`: null if there is none.
QueueStanding queue_standing(const api::Json& workload);

}  // namespace cli
