#include <dirent.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <memory>

#include "net/process/metrics.hpp"

namespace net {
namespace {

double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double total = 0, resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
    struct rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double open_descriptors() {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
    if (!directory) return 0;
    double count = 0;
    while (const auto* entry = ::readdir(directory.get()))
        if (entry->d_name[0] != '.') ++count;
    return count - 1;  // less the descriptor of this directory
}

}  // namespace

void add_process_metrics(Metrics& metrics) {
    metrics
        .gauge("signalbox_build_info", "1; the label has the running version.",
               {{"version", SIGNALBOX_VERSION}})
        .set(1);
    auto start = metrics.gauge("process_start_time_seconds", "When the process began, in Unix time.");
    start.set(static_cast<double>(std::time(nullptr)));
    metrics.read_counter("process_cpu_seconds_total", "CPU time of the process, user and system.",
                         cpu_seconds);
    metrics.read_gauge("process_resident_memory_bytes", "Resident memory.", resident_bytes);
    metrics.read_gauge("process_open_fds", "Open file descriptors.", open_descriptors);
}

}  // namespace net
