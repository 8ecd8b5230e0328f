#include "lifecycle/conclusion.hpp"

namespace lifecycle {

api::Json status_patch(const api::TrainJob& job, const Conclusion& conclusion) {
    api::Json status = api::Json::object();
    if (conclusion.conditions != job.conditions) {
        // An empty list, not null: a status without any member would be refused.
        api::Json& list = status["conditions"] = api::Json::array();
        for (const api::Condition& condition : conclusion.conditions)
            list.push_back(api::to_json_tree(condition));
    }
    if (conclusion.jobs_status != job.jobs_status)
        status["jobsStatus"] = api::to_json_tree(conclusion.jobs_status);
    return api::Json::object({{"status", std::move(status)}});
}

}  // namespace lifecycle
