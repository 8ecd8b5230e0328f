#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"

namespace net {
class Options;
}

namespace kube {

/// Which namespaces a program looks after, as sections of what a cluster holds: one of each that is named, or
/// the one of them all, which is "". What belongs to no namespace is in that one as well.
class Namespaces {
public:
    Namespaces() = default;  ///< all
    /// At least one; what read_option() would refuse must not come here.
    explicit Namespaces(std::vector<std::string> names) : sections_(std::move(names)) {}

    /// Never empty.
    const std::vector<std::string>& sections() const { return sections_; }
    bool is_limited() const { return !sections_.front().empty(); }
    bool contains(std::string_view ns) const;

    bool operator==(const Namespaces&) const = default;

private:
    std::vector<std::string> sections_ = {""};
};

/// Whether what is in that namespace belongs to that section.
inline bool covers(std::string_view section, std::string_view ns) { return section.empty() || section == ns; }

/// "a, b"; for people.
std::string to_string(const Namespaces& namespaces);

/// As net/option_types.hpp has them: names that a namespace can have, each once, separated by commas.
api::Result<> read_option(std::string_view text, Namespaces& target);
std::string show_option(const Namespaces& value);

/// --namespaces, which is the same for all programs. `target` must outlive the Options.
void add_namespaces(net::Options& options, Namespaces& target);

}  // namespace kube
