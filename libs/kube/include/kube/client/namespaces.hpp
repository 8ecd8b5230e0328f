#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"

namespace net {
class Options;
}

namespace kube {

/// The namespaces that a program manages, as partitions of a cluster: one for each named namespace, or a
/// single one for all, which is "". The latter also contains cluster-scoped objects.
class Namespaces {
public:
    Namespaces() = default;  ///< all namespaces
    /// `names` needs at least one name, and only names that read_option() would accept.
    explicit Namespaces(std::vector<std::string> names) : partitions_(std::move(names)) {}

    /// Returns the names. Never empty; the only one is "" for all namespaces.
    const std::vector<std::string>& partitions() const { return partitions_; }
    bool is_limited() const { return !partitions_.front().empty(); }
    bool contains(std::string_view ns) const;

    bool operator==(const Namespaces&) const = default;

private:
    std::vector<std::string> partitions_ = {""};
};

/// Returns whether objects of that namespace belong to that partition.
inline bool covers(std::string_view partition, std::string_view ns) {
    return partition.empty() || partition == ns;
}

/// Returns "a, b" or "all", for messages.
std::string to_string(const Namespaces& namespaces);

/// Functions for net/option_types.hpp: valid names of namespaces, each once, separated by commas.
api::Result<> read_option(std::string_view text, Namespaces& target);
std::string show_option(const Namespaces& value);

/// Adds --namespaces, which all programs share. `target` must outlive the Options.
void add_namespaces(net::Options& options, Namespaces& target);

}  // namespace kube
