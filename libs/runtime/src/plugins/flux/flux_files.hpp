#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

/// The values that differ between the Flux instances of TrainJobs. They have been checked: texts go into
/// scripts and configuration unchanged.
struct FluxSettings {
    std::int64_t nodes = 1;
    std::int64_t processes_per_node = 1;
    std::int64_t gpus_per_node = 0;
    std::string hosts = {};      ///< host names in Flux's notation: "job-node-0-[0-3]"
    std::string lead = {};       ///< the host that runs the program
    std::string subdomain = {};  ///< suffix that makes addresses of host names
    std::string view_image = {};
    std::string network_device = {};
    std::string queue_policy = {};
};

std::string flux_init_script(const FluxSettings& settings);
std::string flux_entrypoint_script(const FluxSettings& settings);
std::string flux_broker_config(const FluxSettings& settings);

/// Returns a CURVE certificate with the secret key, in the format of Flux (ZPL); keys of 32 bytes.
std::string flux_certificate(std::string_view name, std::string_view public_key, std::string_view secret_key);

}  // namespace runtime

/// The files of the folder flux/, unchanged: "{{name}}" is a placeholder for a value of FluxSettings.
namespace runtime::flux_texts {

extern const std::string_view init_sh;
extern const std::string_view entrypoint_sh;
extern const std::string_view broker_toml;

}  // namespace runtime::flux_texts
