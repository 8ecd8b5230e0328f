#include "job/targets.hpp"

#include "api/names.hpp"

namespace cli {

void add_options(net::Options& options, Targets& targets, const std::string& what) {
    options.add_arguments("NAME...", targets.names,
                          "which TrainJobs to " + what + ": NAME or NAMESPACE/NAME");
    options.add("all", targets.all, "all TrainJobs of the namespace");
    options.add("selector", "LABELS", targets.selector, "those with these labels: team=vision,!done");
    options.shorten("selector", 'l');
}

void add_options(net::Options& options, bool& all_namespaces, std::string& selector) {
    options.add("all-namespaces", all_namespaces, "those of all namespaces");
    options.shorten("all-namespaces", 'A');
    options.add("selector", "LABELS", selector, "only those with these labels: team=vision,!done");
    options.shorten("selector", 'l');
}

api::Result<> check_targets(const Targets& targets) {
    const bool by_labels = targets.all || !targets.selector.empty();
    if (targets.named() && by_labels)
        return api::invalid("", "names go without --all and --selector: leave out one of them");
    if (!targets.named() && !by_labels)
        return api::invalid("", "which TrainJobs? Give names, or --selector LABELS, or --all");
    return {};
}

api::Result<Selection> selection_of(const Targets& targets, const ClusterSettings& cluster,
                                    const std::string& ns) {
    Selection selection = {.ns = ns, .labels = targets.selector};
    for (const std::string& name : targets.names) {
        const auto key = key_of(name, cluster, ns);
        if (!key) return key.error();
        selection.keys.push_back(*key);
    }
    return selection;
}

std::string printed_name(const Brief& job) {
    return "trainjob." + std::string(api::trainer_group) + "/" + job.key.name;
}

}  // namespace cli
