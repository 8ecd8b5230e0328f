#include "kube/client/resource_version.hpp"

#include <algorithm>

namespace kube {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view without_zeros(std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

}  // namespace

VersionOrder compare_versions(std::string_view left, std::string_view right) {
    if (left == right) return VersionOrder::same;
    if (!is_number(left) || !is_number(right)) return VersionOrder::unknown;
    left = without_zeros(left);
    right = without_zeros(right);
    if (left == right) return VersionOrder::same;
    const bool less = left.size() != right.size() ? left.size() < right.size() : left < right;
    return less ? VersionOrder::older : VersionOrder::newer;
}

}  // namespace kube
