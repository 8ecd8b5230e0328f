#include "kube/client/request.hpp"

#include <catch2/catch.hpp>

using api::Json;

namespace {

Json object(const char* name, const char* ns) {
    return Json::object({{"metadata", Json::object({{"name", name}, {"namespace", ns}})}});
}

}  // namespace

TEST_CASE("a path names a collection or an object", "[kube]") {
    struct Case {
        const char* name;
        kube::Resource resource;
        api::ObjectKey key;
        const char* want;
    };
    const Case cases[] = {
        {"an object",
         kube::resources::job_sets,
         {"a", "b"},
         "/apis/jobset.x-k8s.io/v1alpha2/namespaces/a/jobsets/b"},
        {"the core group", kube::resources::config_maps, {"a", "b"}, "/api/v1/namespaces/a/configmaps/b"},
        {"a namespace's collection",
         kube::resources::config_maps,
         {"a", ""},
         "/api/v1/namespaces/a/configmaps"},
        {"all namespaces", kube::resources::train_jobs, {}, "/apis/trainer.kubeflow.org/v1alpha1/trainjobs"},
        {"a cluster-scoped object",
         kube::resources::cluster_training_runtimes,
         {"", "torch"},
         "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch"},
        {"a cluster-scoped object, whatever namespace is given",
         kube::resources::cluster_training_runtimes,
         {"x", "torch"},
         "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch"},
        {"odd names, encoded",
         kube::resources::config_maps,
         {"a/b", "c?d e"},
         "/api/v1/namespaces/a%2Fb/configmaps/c%3Fd%20e"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(kube::path(c.resource, c.key) == c.want); }
    }
    CHECK(kube::percent_encode("aZ0-._~ /=,\xc3\xa9") == "aZ0-._~%20%2F%3D%2C%C3%A9");
    CHECK(to_string(kube::resources::job_sets) == "jobsets.jobset.x-k8s.io");
    CHECK(to_string(kube::resources::config_maps) == "configmaps");
}

TEST_CASE("requests carry their preconditions", "[kube]") {
    struct Case {
        const char* name;
        kube::Request request;
        const char* method;
        const char* target;
        const char* type;
        const char* body;
    };
    const auto& maps = kube::resources::config_maps;
    const Json patch = Json::object({{"spec", Json::object({{"suspend", true}})}});
    const kube::SameVersion as_read(api::ObjectMeta{.uid = "u", .resource_version = "7"});
    const Case cases[] = {
        {"get", kube::get(maps, {"n", "x"}), "GET", "/api/v1/namespaces/n/configmaps/x", "", ""},
        {"create", kube::create(maps, object("x", "n")), "POST",
         "/api/v1/namespaces/n/configmaps?fieldManager=trainer", "application/json",
         R"({"metadata":{"name":"x","namespace":"n"}})"},
        {"apply with force", kube::apply(maps, object("x", "n"), kube::Unconditional(), true), "PATCH",
         "/api/v1/namespaces/n/configmaps/x?fieldManager=trainer&force=true", "application/apply-patch+yaml",
         R"({"metadata":{"name":"x","namespace":"n"}})"},
        {"apply without force", kube::apply(maps, object("x", "n"), kube::Unconditional(), false), "PATCH",
         "/api/v1/namespaces/n/configmaps/x?fieldManager=trainer&force=false", "application/apply-patch+yaml",
         R"({"metadata":{"name":"x","namespace":"n"}})"},
        {"apply that only creates", kube::apply_new(kube::resources::job_sets, object("x", "n")), "PATCH",
         "/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets/x?fieldManager=trainer&force=false",
         "application/apply-patch+yaml",
         R"({"metadata":{"name":"x","namespace":"n","resourceVersion":"0"}})"},
        {"merge patch", kube::merge_patch(maps, {"n", "x"}, patch, kube::Unconditional()), "PATCH",
         "/api/v1/namespaces/n/configmaps/x?fieldManager=trainer", "application/merge-patch+json",
         R"({"spec":{"suspend":true}})"},
        {"merge patch with preconditions", kube::merge_patch(maps, {"n", "x"}, patch, as_read), "PATCH",
         "/api/v1/namespaces/n/configmaps/x?fieldManager=trainer", "application/merge-patch+json",
         R"({"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"suspend":true}})"},
        {"status", kube::merge_patch_status(maps, {"n", "x"}, patch, as_read), "PATCH",
         "/api/v1/namespaces/n/configmaps/x/status?fieldManager=trainer", "application/merge-patch+json",
         R"({"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"suspend":true}})"},
        {"replace", kube::replace(maps, object("x", "n")), "PUT",
         "/api/v1/namespaces/n/configmaps/x?fieldManager=trainer", "application/json",
         R"({"metadata":{"name":"x","namespace":"n"}})"},
        {"a dry run of a write with a query",
         kube::dry_run(kube::apply(kube::resources::job_sets, object("x", "n"), as_read, true)), "PATCH",
         "/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets/x?fieldManager=trainer&force=true&dryRun=All",
         "application/apply-patch+yaml",
         R"({"metadata":{"name":"x","namespace":"n","resourceVersion":"7","uid":"u"}})"},
        {"a dry run of a write without one",
         kube::dry_run(kube::remove(maps, {"n", "x"}, kube::Propagation::background, kube::Unconditional())),
         "DELETE", "/api/v1/namespaces/n/configmaps/x?dryRun=All", "application/json",
         R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"})"},
        {"remove in the background",
         kube::remove(maps, {"n", "x"}, kube::Propagation::background, kube::SameObject("u")), "DELETE",
         "/api/v1/namespaces/n/configmaps/x", "application/json",
         R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},"propagationPolicy":"Background"})"},
        {"remove in the foreground", kube::remove(maps, {"n", "x"}, kube::Propagation::foreground, as_read),
         "DELETE", "/api/v1/namespaces/n/configmaps/x", "application/json",
         R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":"7","uid":"u"},"propagationPolicy":"Foreground"})"},
        {"remove whatever is there",
         kube::remove(maps, {"n", "x"}, kube::Propagation::background, kube::Unconditional()), "DELETE",
         "/api/v1/namespaces/n/configmaps/x", "application/json",
         R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"})"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            CHECK(c.request.method == c.method);
            CHECK(c.request.target == c.target);
            CHECK(c.request.content_type == c.type);
            CHECK(c.request.body == c.body);
        }
    }
}

TEST_CASE("the resource of a path is found, without names", "[kube]") {
    struct Case {
        std::string target;
        std::string want;
    };
    const Case cases[] = {
        {"/api/v1/namespaces/ns/configmaps?fieldManager=x", "configmaps"},
        {"/api/v1/namespaces/ns/configmaps/name", "configmaps"},
        {"/api/v1/namespaces", "namespaces"},
        {"/api/v1/namespaces/ns", "namespaces"},
        {"/apis/jobset.x-k8s.io/v1alpha2/jobsets?watch=true", "jobsets.jobset.x-k8s.io"},
        {"/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/name", "jobsets.jobset.x-k8s.io"},
        {"/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/name/status",
         "trainjobs.trainer.kubeflow.org/status"},
        {"/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch",
         "clustertrainingruntimes.trainer.kubeflow.org"},
        {"/version", ""},
        {"/apis", ""},
        {"", ""},
    };
    for (const Case& c : cases) {
        INFO(c.target);
        CHECK(kube::resource_of(c.target) == c.want);
    }
    for (const kube::Resource& resource : {kube::resources::leases, kube::resources::config_maps})
        CHECK(kube::resource_of(kube::path(resource, {"ns", "name"})) == kube::to_string(resource));
}
