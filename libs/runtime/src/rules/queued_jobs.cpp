// The warning about runtimes whose change affects queued TrainJobs: Kueue counts Pods by the live runtime.
#include "api/train_job.hpp"
#include "runtime/validation.hpp"

namespace runtime {

using api::Json;

void count_queued_jobs(const Json& page, std::string_view kind, std::string_view name, QueuedJobs& found) {
    for (const Json& item : page["items"].items()) {
        const api::TrainJob job = api::parse_train_job(item);
        const bool uses =
            is_supported(job.runtime_ref) && job.runtime_ref.kind == kind && job.runtime_ref.name == name;
        if (uses && !job.queue.empty() && !api::terminal_condition(job)) ++found.count;
    }
}

std::string warning_of_queued_jobs(const Json& object, const QueuedJobs& jobs) {
    if (jobs.count == 0 && !jobs.more) return {};
    std::string text = "queued TrainJobs may use it";
    if (jobs.count == 1 && !jobs.more)
        text = "1 queued TrainJob uses it";
    else if (jobs.count > 0)
        text = std::to_string(jobs.count) + (jobs.more ? " or more" : "") + " queued TrainJobs use it";
    return text + (object.is_null()
                       ? ": Kueue cannot count their Pods any more; delete those first"
                       : ": Kueue counts by what it is now; those that were built run as before");
}

}  // namespace runtime
