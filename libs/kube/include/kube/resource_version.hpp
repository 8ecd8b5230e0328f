#pragma once
#include <string_view>

namespace kube {

enum class VersionOrder { older, same, newer, unknown };

/// How `left` relates to `right`, two resource versions of the same resource, as decimal numbers of any
/// length (guaranteed since Kubernetes 1.35, true before with etcd). Different and not both numeric: unknown.
VersionOrder compare_versions(std::string_view left, std::string_view right);

}  // namespace kube
