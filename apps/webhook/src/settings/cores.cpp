#include "settings/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "net/process/file.hpp"

namespace webhook {
namespace {

constexpr std::string_view cgroups = "/sys/fs/cgroup";

std::optional<long> number(std::string_view text) {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Below the root of the cgroup file system; "/" inside a container with a namespace of its own.
std::filesystem::path own_cgroup() {
    const auto text = net::read_file("/proc/self/cgroup");
    if (!text) return "/";
    // The line of version 2 reads "0::/path".
    const auto at = text->find("0::/");
    if (at == std::string::npos) return "/";
    return text->substr(at + 3, text->find('\n', at) - at - 3);
}

}  // namespace

std::optional<int> cores_of_quota(std::string_view cpu_max) {
    while (!cpu_max.empty() && cpu_max.back() == '\n') cpu_max.remove_suffix(1);
    const auto space = cpu_max.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const auto quota = number(cpu_max.substr(0, space));
    const auto period = number(cpu_max.substr(space + 1));
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<int>(std::min(*quota / *period + (*quota % *period > 0), 1'000'000L));
}

int available_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    for (auto group = own_cgroup();; group = group.parent_path()) {
        const auto file = std::string(cgroups) + (group / "cpu.max").string();
        if (const auto text = net::read_file(file))
            if (const auto quota = cores_of_quota(*text)) cores = std::min(cores, *quota);
        if (group == group.parent_path()) break;
    }
    return std::max(cores, 1);
}

}  // namespace webhook
