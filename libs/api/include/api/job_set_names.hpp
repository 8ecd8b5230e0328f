#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "api/json.hpp"

/// The names that JobSet 0.12 gives to what it makes for a JobSet: all of them, and nowhere else. `job_set`
/// is its name, `spec` its spec as it is built or stored.
namespace api::job_set_names {

/// Returns the part of Pods' addresses behind their host name: `network.subdomain`, or the JobSet's name.
std::string subdomain(std::string_view job_set, const Json& spec);

/// Returns the name of the headless Service, by which host names of Pods resolve: the subdomain. Empty if
/// `network.enableDNSHostnames` is false. JobSet uses any Service of that name, whoever owns it.
std::string service(std::string_view job_set, const Json& spec);

/// Returns the name of a Job: `<job_set>-<replicated job>-<index>`. Without replicas, the largest index is
/// -1.
std::string job(std::string_view job_set, std::string_view replicated_job, std::int64_t index);

/// Returns whether a Job's name is one of those of the replicated job.
bool is_job(std::string_view name, std::string_view job_set, std::string_view replicated_job);

/// Returns the host name of a Pod of an indexed Job: `<job>-<completion index>`. Its Pod has that name with
/// six more characters.
std::string host(std::string_view job_set, std::string_view replicated_job, std::int64_t index,
                 std::int64_t pod);
inline constexpr std::int64_t random_part_of_pods = 6;

/// Returns the address of that Pod within its namespace: `<host>.<subdomain>`.
std::string address(std::string_view job_set, const Json& spec, std::string_view replicated_job,
                    std::int64_t index, std::int64_t pod);

/// Returns the name of a volume claim: `<template>-<job_set>`.
std::string claim(std::string_view job_set, std::string_view claim_template);

}  // namespace api::job_set_names
