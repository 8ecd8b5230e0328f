#include "kube/client/api_server.hpp"

#include <catch2/catch.hpp>

TEST_CASE("an answer without the object is requested as a Table, and has the resource version", "[kube]") {
    const kube::Request plain = kube::get(kube::resources::job_sets, {"a", "b"});
    CHECK(kube::without_object(plain).target ==
          "/apis/jobset.x-k8s.io/v1alpha2/namespaces/a/jobsets/b?includeObject=None");
    const kube::Request patch = kube::without_object(kube::merge_patch_status(
        kube::resources::train_jobs, {"a", "b"}, api::Json::object(), kube::Unconditional()));
    CHECK(patch.target ==
          "/apis/trainer.kubeflow.org/v1alpha1/namespaces/a/trainjobs/b/status?fieldManager=trainer"
          "&includeObject=None");
    // A server without Tables answers with the object.
    CHECK(patch.accept == "application/json;as=Table;g=meta.k8s.io;v=v1,application/json");

    struct Case {
        const char* name;
        const char* body;
        const char* want;
    };
    const Case cases[] = {
        {"a Table",
         R"({"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name"}],
                        "rows":[{"cells":["b"],"object":null}]})",
         "7"},
        {"the object", R"({"kind":"JobSet","metadata":{"name":"b","resourceVersion":"8","managedFields":[{}]},
                           "spec":{"metadata":{"resourceVersion":"9"}},"status":{}})",
         "8"},
        {"neither", R"({"kind":"Status"})", ""},
        {"no JSON", "ok", ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(kube::version_of({.body = c.body}) == c.want); }
    }
}
