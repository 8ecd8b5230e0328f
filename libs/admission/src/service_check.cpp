#include "admission/service_check.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "admission/review_turns.hpp"
#include "api/dns_label.hpp"
#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/train_job.hpp"
#include "kube/client/request.hpp"
#include "lifecycle/service.hpp"
#include "runtime/rule.hpp"

namespace admission {
namespace {

using api::Json;
using namespace std::chrono_literals;

// A TrainJob must not wait for a warning as long as for what it is judged by.
constexpr auto longest_look = 1s;

// Returns whether the TrainJob gets its JobSet after this review.
bool has_job_set_to_come(const Review& review) {
    const std::string& manager = review.job.job.managed_by;
    if (!manager.empty() && manager != api::managed_by_this_controller) return false;
    return !review.old_job.exists || api::may_be_corrected(review.old_job.job);
}

}  // namespace

// With a subdomain `shared_subdomain` warns, whatever the cluster has.
std::optional<ServiceQuestion> service_question(const Route& route, const Review& review,
                                                const ReviewInputs& inputs) {
    if (!route.reads_train_job || !review.job.exists || !inputs.runtime) return std::nullopt;
    const api::AdmissionRequest& request = review.request;
    if (!api::is_dns_label(request.name) || !api::is_dns_label(request.ns)) return std::nullopt;
    const Json& spec = std::as_const(*inputs.runtime)["spec"]["template"]["spec"];
    if (api::job_set_names::service(request.name, spec) != request.name) return std::nullopt;
    if (!has_job_set_to_come(review)) return std::nullopt;
    return ServiceQuestion{.service = {request.ns, request.name},
                           .labels_of_pods = lifecycle::labels_of_pods(request.name, spec)};
}

net::Task<> ServiceCheck::add_warning(const ServiceQuestion& asked, api::Verdict& verdict) const {
    using namespace boost::asio::experimental::awaitable_operators;
    kube::Request request = kube::get(kube::resources::services, asked.service);
    request.max_answer = lookup_limits::usual_object;
    const auto found =
        co_await (server_.send(std::move(request)) || clock_.sleep_until(clock_.now() + longest_look));
    const auto* answer = std::get_if<api::Result<kube::Response>>(&found);
    if (!answer || !*answer) co_return;
    const auto service = api::parse_json((*answer)->body);
    if (!service || !lifecycle::will_take_name(*service, asked.service.name, asked.labels_of_pods)) co_return;
    verdict.warnings.push_back({.text = lifecycle::describe_taken_service(asked.service, false),
                                .rule = runtime::id_of(runtime::Rule::service_taken)});
}

}  // namespace admission
