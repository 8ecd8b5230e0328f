#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "api/field_error.hpp"
#include "runtime/info.hpp"

/// The settings of a TrainJob's Flux instance, and the files that are made of them.
namespace runtime {

/// The values that differ between the Flux instances of TrainJobs. They have been checked: texts go into
/// scripts and configuration unchanged.
struct FluxSettings {
    std::int64_t nodes = 1;
    std::int64_t processes_per_node = 1;
    std::int64_t devices_per_node = 0;  ///< that Flux divides among the processes
    bool hides_devices = true;          ///< a process sees none but those that Flux gives it
    std::string hosts = {};             ///< host names in Flux's notation: "job-node-0-[0-3]"
    std::string lead = {};              ///< the host that runs the program
    std::string subdomain = {};         ///< suffix that makes addresses of host names
    std::string view_image = {};
    std::string network_device = {};
    std::string queue_policy = {};
};

/// The sources of the settings of a TrainJob's Flux instance.
struct FluxSources {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& job_set_spec;  ///< with the TrainJob's patches
    const PodSet* nodes;            ///< of the job "node"; null if there is none
    const DeviceCount& devices;     ///< of a node
};

inline constexpr std::string_view flux_job = "node";
inline constexpr std::string_view flux_installer = "flux-installer";

/// Returns the settings. Adds an error (`flux`) for each one with which Flux could not start; the result is
/// valid only without errors.
FluxSettings flux_settings(const FluxSources& sources, api::FieldErrors& errors);

std::string flux_init_script(const FluxSettings& settings);
std::string flux_entrypoint_script(const FluxSettings& settings);
std::string flux_broker_config(const FluxSettings& settings);

/// Returns a CURVE certificate with the secret key, in the format of Flux (ZPL); keys of 32 bytes.
std::string flux_certificate(std::string_view name, std::string_view public_key, std::string_view secret_key);

/// Encodes ZeroMQ's base-85 (rfc.zeromq.org/spec/32): five characters for four bytes. Omits an incomplete
/// group at the end; keys of 32 bytes have none.
std::string to_z85(std::string_view bytes);

}  // namespace runtime

/// The files of the folder flux/, unchanged: "{{name}}" is a placeholder for a value of FluxSettings.
namespace runtime::flux_texts {

extern const std::string_view init_sh;
extern const std::string_view entrypoint_sh;
extern const std::string_view broker_toml;

}  // namespace runtime::flux_texts
