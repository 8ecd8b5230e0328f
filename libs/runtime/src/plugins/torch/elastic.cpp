#include "plugins/torch/elastic.hpp"

#include <algorithm>
#include <limits>

#include "build/pod_sets.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

// The default of PyTorch's own launcher (torch.distributed.launcher.api.LaunchConfig). A lost node counts as
// a failure of the processes on the others, so 0 would end the training.
constexpr std::int64_t default_restarts = 3;

constexpr std::int64_t most_failures = std::numeric_limits<std::int32_t>::max();

constexpr const char* without_failure_policy =
    "a failure policy fails or restarts the whole TrainJob, and mlPolicy.torch.elasticPolicy goes on with "
    "fewer "
    "nodes: use one of them";

}  // namespace

std::optional<Elastic> elastic_of(const Json& torch_policy) {
    const Json& policy = torch_policy["elasticPolicy"];
    if (!policy.is_object()) return {};
    Elastic elastic;
    elastic.min_nodes = std::max<std::int64_t>(1, policy["minNodes"].int_or(1));
    elastic.max_nodes = std::max(elastic.min_nodes, policy["maxNodes"].int_or(1));
    elastic.max_restarts = std::max<std::int64_t>(0, policy["maxRestarts"].int_or(default_restarts));
    return elastic;
}

std::string wrong_number_of_nodes(const Elastic& elastic, std::int64_t nodes) {
    if (nodes >= elastic.min_nodes && nodes <= elastic.max_nodes) return {};
    return "must be " + std::to_string(elastic.min_nodes) + " to " + std::to_string(elastic.max_nodes) +
           ", the nodes of the runtime's mlPolicy.torch.elasticPolicy";
}

void add_elastic_variables(Json& container, const Elastic& elastic, const std::string& job,
                           const std::string& host, std::int64_t port) {
    upsert_env(container, env_value("PET_RDZV_BACKEND", "c10d"));
    upsert_env(container, env_value("PET_RDZV_ENDPOINT", host + ":" + std::to_string(port)));
    upsert_env(container, env_value("PET_RDZV_ID", job));
    upsert_env(container, env_value("PET_MAX_RESTARTS", std::to_string(elastic.max_restarts)));
}

void keep_going(Info& info, const PodSet& pods, const Elastic& elastic) {
    Json& spec = info.job_template(pods)["spec"];
    const auto set = [&](const char* member, Json value) {
        if (std::as_const(spec)[member].is_null()) spec[member] = std::move(value);
    };
    // A Job without retries cannot go on. The shipped runtimes have 0 for training that is not elastic.
    if (std::as_const(spec)["backoffLimit"] == Json(0)) spec.erase("backoffLimit");
    // backoffLimitPerIndex with maxFailedIndexes does not work here: if an index has failed and the others
    // succeed at the same time, the Job controller reports FailedIndexes before it looks at the
    // successPolicy.
    set("backoffLimit", std::min(elastic.max_restarts * pods.count, most_failures));
    // Agents end together: each waits for the others before it exits. A Pod that has come back by then has no
    // peers any more.
    set("successPolicy",
        Json::object(
            {{"rules", Json::array({Json::object({{"succeededCount", pods.least.value_or(pods.count)}})})}}));
    set("podFailurePolicy",
        Json::object(
            {{"rules", Json::array({Json::object(
                           {{"action", "Ignore"},
                            {"onPodConditions", Json::array({Json::object({{"type", "DisruptionTarget"},
                                                                           {"status", "True"}})})}})})}}));
    // A Job with a podFailurePolicy is refused otherwise.
    info.pod_spec(pods)["restartPolicy"] = "Never";
}

void validate_elastic(const ValidationInputs& review, const Elastic& elastic, bool is_torch_tune,
                      FieldErrors& errors) {
    const auto refuse = [&](FieldErrorType type, std::string field, Json value, std::string why) {
        errors.push_back({type, std::move(field), std::move(value), std::move(why), {}, elastic_rule});
    };
    const std::int64_t nodes =
        nodes_that_train(review.runtime["spec"]["mlPolicy"], review.job.spec["trainer"]["numNodes"].as_int());
    if (std::string why = wrong_number_of_nodes(elastic, nodes); !why.empty())
        refuse(FieldErrorType::invalid, "spec.trainer.numNodes", nodes, std::move(why));
    if (is_torch_tune)
        refuse(FieldErrorType::invalid, "spec.trainer.command", review.job.spec["trainer"]["command"],
               "torchtune has a fixed number of nodes, and the runtime is elastic");
    if (!review.job.spec["failurePolicy"].is_null())
        refuse(FieldErrorType::forbidden, "spec.failurePolicy", {}, without_failure_policy);
}

void validate_elastic_runtime(const Json& runtime, const Elastic& elastic, FieldErrors& errors) {
    if (const auto nodes = runtime["spec"]["mlPolicy"]["numNodes"].as_int())
        if (std::string why = wrong_number_of_nodes(elastic, *nodes); !why.empty())
            errors.push_back({FieldErrorType::invalid, "spec.mlPolicy.numNodes", *nodes, std::move(why), {}});
    if (!runtime["spec"]["runPolicy"]["failurePolicy"].is_null())
        errors.push_back(
            {FieldErrorType::forbidden, "spec.runPolicy.failurePolicy", {}, without_failure_policy, {}});
}

}  // namespace runtime
