#pragma once
#include <string_view>

namespace kube {

enum class VersionOrder { older, same, newer, unknown };

/// Compares two resource versions of one resource as decimal numbers of any length. Kubernetes guarantees
/// this since 1.35; it held before with etcd. Returns `unknown` for different versions that are not both
/// numeric.
VersionOrder compare_versions(std::string_view left, std::string_view right);

}  // namespace kube
