#include "admission/routes.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "reviews.hpp"

using admission::find_route;

TEST_CASE("every path of the original is served", "[routes]") {
    struct Case {
        std::string path;
        std::string kind;
        bool needs_lookups;
    };
    const Case cases[] = {
        {test::mutate_path, "TrainJob", false},
        {test::train_job_path, "TrainJob", true},
        {test::runtime_path, "TrainingRuntime", true},
        {test::cluster_runtime_path, "ClusterTrainingRuntime", true},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.path) {
            const admission::Route* route = find_route(c.path);
            REQUIRE(route);
            CHECK(route->kind == c.kind);
            CHECK((route->lookups != nullptr) == c.needs_lookups);
            CHECK(find_route(c.path + "?timeout=10s") == route);
        }
    }
    CHECK(admission::routes().size() == std::size(cases));
}

TEST_CASE("paths are unique and exact", "[routes]") {
    std::set<std::string_view> paths;
    for (const admission::Route& route : admission::routes()) CHECK(paths.insert(route.path).second);
    for (const std::string path :
         {"", "/", "?timeout=10s", "/healthz", "/metrics",
          "//validate-trainer-kubeflow-org-v1alpha1-trainjob",
          "/validate-trainer-kubeflow-org-v1alpha1-trainjob/",
          "/Validate-trainer-kubeflow-org-v1alpha1-trainjob",
          "/x/../validate-trainer-kubeflow-org-v1alpha1-trainjob", "/validate/../../etc/passwd",
          "/%2e%2e/%2e%2e/etc/passwd", "http://127.0.0.1:1/validate-trainer-kubeflow-org-v1alpha1-trainjob",
          "kubernetes.default:443", "/validate-trainer-kubeflow-org-v1alpha1-trainjobs", "/convert"})
        CHECK(find_route(path) == nullptr);
}
