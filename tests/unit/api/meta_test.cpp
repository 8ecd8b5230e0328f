#include "api/meta.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

TEST_CASE("the metadata of an object is read", "[api]") {
    const auto object = parse_json(R"({"metadata": {
        "name": "job", "namespace": "team", "uid": "u1", "resourceVersion": "17", "generation": 3,
        "creationTimestamp": "2026-01-15T10:00:00Z", "deletionTimestamp": "2026-01-15T11:00:00Z",
        "ownerReferences": [{"uid": "u2"}, {"uid": "u3", "controller": true}, {"uid": "u4", "controller": false}],
        "finalizers": ["a/b", 3, "c/d"]}})");
    REQUIRE(object);
    const ObjectMeta meta = parse_meta(*object);
    CHECK(to_string(meta.key()) == "team/job");
    CHECK(meta.uid == "u1");
    CHECK(meta.resource_version == "17");
    CHECK(meta.generation == 3);
    CHECK(format_time(meta.creation) == "2026-01-15T10:00:00Z");
    REQUIRE(meta.deletion);
    CHECK(format_time(*meta.deletion) == "2026-01-15T11:00:00Z");
    CHECK(meta.controller_uid == "u3");
    CHECK(meta.finalizers == std::vector<std::string>{"a/b", "c/d"});
}

TEST_CASE("metadata of any shape is read without an error", "[api]") {
    for (const char* text :
         {"null", "[]", "{}", "\"x\"", R"({"metadata": null})", R"({"metadata": []})", R"({"metadata": "x"})",
          R"({"metadata": {"name": 3, "generation": "3", "creationTimestamp": 5, "deletionTimestamp": null,
              "ownerReferences": {"uid": "x"}, "finalizers": "x"}})",
          R"({"metadata": {"ownerReferences": [null, 3, {"controller": "true", "uid": "x"}]}})"}) {
        const ObjectMeta meta = parse_meta(*parse_json(text));
        INFO(text);
        CHECK(meta.name.empty());
        CHECK(meta.generation == 0);
        CHECK(meta.creation == Time());
        CHECK_FALSE(meta.deletion);
        CHECK(meta.controller_uid.empty());
        CHECK(meta.finalizers.empty());
    }
}

TEST_CASE("an object with an unreadable deletion time counts as being deleted", "[api]") {
    CHECK(parse_meta(*parse_json(R"({"metadata": {"deletionTimestamp": "soon"}})")).deletion);
}

TEST_CASE("a dependent's controller reference names the TrainJob", "[api]") {
    CHECK(controller_reference({.name = "job", .uid = "u1"}) ==
          *parse_json(R"({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job",
                          "uid": "u1", "controller": true, "blockOwnerDeletion": true})"));
}

TEST_CASE("an object of a cluster-scoped kind is named without a namespace", "[api]") {
    CHECK(to_string(ObjectKey{.name = "torch-distributed"}) == "torch-distributed");
}
