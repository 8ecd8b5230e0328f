#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

/// What differs between the Flux instances of TrainJobs. Everything here has been checked: texts go into
/// scripts and configuration as they are.
struct FluxSettings {
    std::int64_t nodes = 1;
    std::int64_t processes_per_node = 1;
    std::int64_t gpus_per_node = 0;
    std::string hosts = {};      ///< host names in Flux's notation: "job-node-0-[0-3]"
    std::string lead = {};       ///< the host that runs the program
    std::string subdomain = {};  ///< that makes addresses of host names
    std::string view_image = {};
    std::string network_device = {};
    std::string queue_policy = {};
};

std::string flux_init_script(const FluxSettings& settings);
std::string flux_entrypoint_script(const FluxSettings& settings);
std::string flux_broker_config(const FluxSettings& settings);

/// A CURVE certificate with the secret key, in the form that Flux reads (ZPL); keys of 32 bytes.
std::string flux_certificate(std::string_view name, std::string_view public_key, std::string_view secret_key);

}  // namespace runtime
