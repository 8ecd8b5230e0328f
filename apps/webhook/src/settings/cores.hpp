#pragma once
#include <optional>
#include <string_view>

namespace webhook {

/// Returns the number of cores that this process may use: those of its CPU affinity, or fewer if its cgroup
/// (v2, or any group around it) has a quota. At least 1.
int available_cores();

/// Returns the cores of a cgroup's cpu.max ("max 100000", "150000 100000"), rounded up; nullopt: no limit, or
/// not readable.
std::optional<int> cores_of_quota(std::string_view cpu_max);

}  // namespace webhook
