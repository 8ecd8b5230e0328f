#pragma once
#include <optional>
#include <string>

#include "runtime/plugin.hpp"

/// Elastic training: the agents of torchrun meet by the rendezvous c10d, and training goes on with fewer
/// nodes when some are lost.
namespace runtime {

inline constexpr api::RuleId elastic_rule("torch_elastic");

/// `elasticPolicy` of a runtime.
struct Elastic {
    std::int64_t min_nodes = 1;
    std::int64_t max_nodes = 1;
    std::int64_t max_restarts =
        0;  ///< of the processes of a node by torchrun, and of a node's Pod in the mean
};

/// Reads mlPolicy.torch; nullopt if it is not elastic.
std::optional<Elastic> elastic_of(const api::Json& torch_policy);

/// Returns why this number of nodes is not possible; empty if it is.
std::string wrong_number_of_nodes(const Elastic& elastic, std::int64_t nodes);

/// Sets the variables of an elastic agent. `host` is the first Pod, which keeps the rendezvous.
void add_elastic_variables(api::Json& container, const Elastic& elastic, const std::string& job,
                           const std::string& host, std::int64_t port);

/// Lets the Jobs of the Pods go on without the Pods that fail, as long as the least number is there, and
/// start lost ones anew. What the template says of these fields stays.
void keep_going(Info& info, const PodSet& pods, const Elastic& elastic);

/// Adds the errors of a TrainJob and of a runtime.
void validate_elastic(const ValidationInputs& review, const Elastic& elastic, bool is_torch_tune,
                      api::FieldErrors& errors);
void validate_elastic_runtime(const api::Json& runtime, const Elastic& elastic, api::FieldErrors& errors);

}  // namespace runtime
