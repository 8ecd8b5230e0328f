#include "controller/cache/cache.hpp"
#include "kube/client/request.hpp"

namespace controller {

std::vector<Cache::Collection> Cache::collections() {
    std::vector<Collection> all;
    const auto add = [&all](kube::Scope scope, const std::vector<kube::Partition>& partitions,
                            bool may_be_missing = false) {
        for (const kube::Partition& partition : partitions) {
            scope.ns = partition.ns;
            all.push_back({scope, partition.sink, may_be_missing});
        }
    };
    add({.resource = kube::resources::train_jobs}, train_jobs_.partitions());
    add({.resource = kube::resources::job_sets, .omit = omitted_of_job_sets}, job_sets_.partitions());
    add({.resource = kube::resources::training_runtimes}, training_runtimes_.partitions());
    add({.resource = kube::resources::cluster_training_runtimes}, cluster_training_runtimes_.partitions());
    for (const OwnedKind& kind : owned_kinds_)
        add({.resource = kind.resource, .metadata_only = true}, kind.objects->partitions(), true);
    return all;
}

}  // namespace controller
