#pragma once
#include <chrono>
#include <string>

#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "net/server/http_server.hpp"
#include "progress/schedule.hpp"

namespace webhook {

/// The services of the process: --serve.
struct Services {
    bool admission = true;
    bool progress = false;

    bool operator==(const Services&) const = default;
};
api::Result<> read_option(std::string_view text, Services& target);
std::string show_option(const Services& services);

/// The settings of the server of progress reports.
struct ProgressSettings {
    net::HostPort listen{"::", 10443};
    std::string tls_cert = {};
    std::string tls_key = {};
    api::ObjectKey cert_secret = {};  ///< replaces the files, with the next
    api::ObjectKey service = {};
    std::chrono::milliseconds interval{5'000};
    double writes_per_second = 200;
    net::ByteCount bytes_per_second{512 * 1024};
    std::size_t jobs = 10'000;
    double source_rate = 20;      ///< 0: sources are not limited
    std::size_t job_metrics = 0;  ///< TrainJobs with series of their own
};

/// `services` and `settings` must outlive the options.
void add_progress_options(net::Options& options, Services& services, ProgressSettings& settings);

/// Fails if an option of a service is set that is not started.
api::Result<> check_services(const net::Options& options, const Services& services);
/// Checks combinations that the types of the options cannot exclude; for a process that serves progress.
api::Result<> check(const ProgressSettings& settings);

/// Returns the limits of the schedule of writes.
progress::ScheduleLimits schedule_limits(const ProgressSettings& settings);

/// Returns the limits of the server of reports. `process`: those of the options, which reviews have as well.
net::ServerLimits report_limits(const ProgressSettings& settings, const net::ServerLimits& process);

}  // namespace webhook
