#include <catch2/catch.hpp>

#include "controller/cache/cache.hpp"

TEST_CASE("the cache names a collection for each kind and namespace", "[cache]") {
    controller::Cache cache([](const api::ObjectKey&, const controller::Change&) {},
                            kube::Namespaces({"a", "b"}));
    std::vector<std::string> always;
    std::size_t once_installed = 0;
    for (const auto& [scope, sink, may_be_missing] : cache.collections()) {
        CHECK(scope.metadata_only == may_be_missing);
        if (may_be_missing)
            ++once_installed;
        else
            always.push_back(kube::to_string(scope));
    }
    CHECK(always == std::vector<std::string>{"trainjobs.trainer.kubeflow.org in a",
                                             "trainjobs.trainer.kubeflow.org in b",
                                             "jobsets.jobset.x-k8s.io in a", "jobsets.jobset.x-k8s.io in b",
                                             "trainingruntimes.trainer.kubeflow.org in a",
                                             "trainingruntimes.trainer.kubeflow.org in b",
                                             "clustertrainingruntimes.trainer.kubeflow.org"});
    CHECK(once_installed == 2 * cache.owned_kinds().size());
}
