#include "api/names.hpp"
#include "runtime/plugin.hpp"

namespace runtime {
namespace {

using api::Json;

// Removes empty fields that Go clients omit, and that JobSet refuses if they are empty.
void drop_what_is_empty(Json& spec) {
    const auto drop = [](Json& object, const char* member) {
        if (std::as_const(object)[member].empty()) object.erase(member);
    };
    drop(spec, "managedBy");
    Json* jobs = spec.find("replicatedJobs");
    if (!jobs) return;
    for (Json& job : jobs->items())
        for (const char* member : {"dependsOn", "groupName"}) drop(job, member);
}

// Makes the JobSet from the template, which is complete by now.
class JobSetPlugin final : public Plugin {
public:
    std::string_view name() const override { return "jobset"; }

    api::Result<> build(const Inputs&, Info& info, Built& built) const override {
        // The JobSet does not get the TrainJob's own labels and annotations: Kueue's queue name, for one,
        // must not be copied.
        Json metadata = Json::object({{"name", info.job.meta.name}});
        if (!info.labels.empty()) metadata["labels"] = std::move(info.labels);
        if (!info.annotations.empty()) metadata["annotations"] = std::move(info.annotations);
        info.spec["suspend"] = info.job.suspend;
        drop_what_is_empty(info.spec);
        Json job_set = Json::object({{"apiVersion", api::job_set_api_version}, {"kind", "JobSet"}});
        job_set["metadata"] = std::move(metadata);
        job_set["spec"] = std::move(info.spec);
        built.objects.push_back({std::move(job_set), ApplyPolicy::with_job_set});
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_job_set() { return std::make_unique<JobSetPlugin>(); }

}  // namespace runtime
