#include "api/job_set_names.hpp"

namespace api::job_set_names {
namespace {

std::string joined(std::string_view left, std::string_view right) {
    return std::string(left).append("-").append(right);
}

}  // namespace

std::string subdomain(std::string_view job_set, const Json& spec) {
    const std::string_view given = spec["network"]["subdomain"].as_string();
    return std::string(given.empty() ? job_set : given);
}

// JobSet's webhook sets the flag where it is missing.
std::string service(std::string_view job_set, const Json& spec) {
    return spec["network"]["enableDNSHostnames"].bool_or(true) ? subdomain(job_set, spec) : std::string();
}

std::string job(std::string_view job_set, std::string_view replicated_job, std::int64_t index) {
    return joined(joined(job_set, replicated_job), std::to_string(index));
}

bool is_job(std::string_view name, std::string_view job_set, std::string_view replicated_job) {
    const std::string prefix = joined(joined(job_set, replicated_job), "");
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

std::string host(std::string_view job_set, std::string_view replicated_job, std::int64_t index,
                 std::int64_t pod) {
    return joined(job(job_set, replicated_job, index), std::to_string(pod));
}

std::string address(std::string_view job_set, const Json& spec, std::string_view replicated_job,
                    std::int64_t index, std::int64_t pod) {
    return host(job_set, replicated_job, index, pod) + "." + subdomain(job_set, spec);
}

std::string claim(std::string_view job_set, std::string_view claim_template) {
    return joined(claim_template, job_set);
}

}  // namespace api::job_set_names
