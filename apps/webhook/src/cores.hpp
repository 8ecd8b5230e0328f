#pragma once
#include <optional>
#include <string_view>

namespace webhook {

/// How many cores this process may keep busy: those it may run on, or fewer if its cgroup (v2, or any group
/// around it) has a quota. At least 1.
int available_cores();

/// What a cgroup's cpu.max ("max 100000", "150000 100000") grants, rounded up; nullopt: no limit, or not
/// understood.
std::optional<int> cores_of_quota(std::string_view cpu_max);

}  // namespace webhook
