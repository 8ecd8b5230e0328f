#include "kube/client/namespaces.hpp"

#include <algorithm>

#include "api/dns_label.hpp"
#include "net/process/options.hpp"

namespace kube {
namespace {

std::string joined(const Namespaces& namespaces, std::string_view separator) {
    std::string text;
    for (const std::string& name : namespaces.partitions())
        text.append(text.empty() ? "" : separator).append(name);
    return text;
}

}  // namespace

bool Namespaces::contains(std::string_view ns) const {
    return std::any_of(partitions_.begin(), partitions_.end(),
                       [&](const std::string& partition) { return covers(partition, ns); });
}

std::string to_string(const Namespaces& namespaces) {
    return namespaces.is_limited() ? joined(namespaces, ", ") : "all";
}

api::Result<> read_option(std::string_view text, Namespaces& target) {
    // An empty list, for example of a template, must not become all namespaces.
    if (text.empty())
        return api::invalid("", "must name at least one namespace; for all of them, leave the option away");
    std::vector<std::string> names;
    for (std::string_view rest = text;;) {
        const auto comma = std::min(rest.find(','), rest.size());
        const std::string name(rest.substr(0, comma));
        if (name.empty())
            return api::invalid("", "must be names of namespaces separated by commas, none of them empty");
        if (!api::is_dns_label(name))
            return api::invalid("", "no namespace can be named \"" + name +
                                        "\": names have a-z, 0-9 and hyphens in between, at most 63");
        if (std::find(names.begin(), names.end(), name) != names.end())
            return api::invalid("", "must name each namespace once: \"" + name + "\" is there twice");
        names.push_back(name);
        if (comma == rest.size()) break;
        rest.remove_prefix(comma + 1);
    }
    target = Namespaces(std::move(names));
    return {};
}

std::string show_option(const Namespaces& value) { return joined(value, ","); }

void add_namespaces(net::Options& options, Namespaces& target) {
    options.add_list("namespaces", "LIST", target,
                     "watch these namespaces only, which needs roles in them and a few cluster-wide reads; "
                     "without it, watch all namespaces");
}

}  // namespace kube
