#include "lifecycle/refusal.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("a rejection of an object is distinguished from a failure of the API server", "[refusal]") {
    struct Row {
        const char* name;
        int status;
        const char* message;
        bool want;
    };
    const Row rows[] = {
        {"an invalid object", 422, "JobSet.jobset.x-k8s.io \"job\" is invalid: spec: Invalid value", true},
        {"a bad request", 400, "unknown field", true},
        {"a missing kind", 404, "the server could not find the requested resource", true},
        {"a webhook whose cache is behind", 404,
         "admission webhook \"mjobset.kb.io\" denied the request: TrainJob.trainer.kubeflow.org \"job\" not "
         "found",
         false},
        {"a quota", 403, "jobsets \"job\" is forbidden: exceeded quota: q, requested: count/jobsets=1", true},
        {"a policy", 403, "admission webhook \"policy.example.com\" denied the request: no", true},
        {"a field that the kind does not have", 500,
         "failed to create typed patch object (ns/job; jobset.x-k8s.io/v1alpha2, Kind=JobSet): .spec.new: "
         "field not declared in schema",
         true},
        {"an error of the server", 500, "etcdserver: request timed out", false},
        {"too large", 413, "request entity too large", true},
        {"a missing permission", 403,
         "jobsets.jobset.x-k8s.io \"job\" is forbidden: User \"system:serviceaccount:s:r\" cannot patch "
         "resource "
         "\"jobsets\" in API group \"jobset.x-k8s.io\" in the namespace \"default\"",
         false},
        {"a missing permission on owners", 403,
         "jobsets.jobset.x-k8s.io \"job\" is forbidden: cannot set blockOwnerDeletion if an ownerReference "
         "refers "
         "to a resource you can't set finalizers on: , <nil>",
         false},
        {"a namespace that ends", 403,
         "jobsets.jobset.x-k8s.io \"job\" is forbidden: unable to create new content in namespace ns because "
         "it "
         "is being terminated",
         false},
        {"old credentials", 401, "Unauthorized", false},
        {"a timeout", 408, "Timeout", false},
        {"a conflict", 409, "the object has been modified", false},
        {"overload", 429, "too many requests", false},
        {"a broken webhook", 500, "failed calling webhook", false},
        {"unavailable", 503, "shutting down", false},
        {"no answer", 0, "connection reset", false},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(is_rejection(server_error(row.status, row.message)) == row.want);
    }
    api::Error taken = server_error(422, "metadata.resourceVersion: Invalid value: 0");
    taken.code = api::Errc::conflict;
    CHECK_FALSE(is_rejection(taken));
}

TEST_CASE("an error that rejects no object is classified by its obstacle", "[refusal]") {
    struct Row {
        const char* name;
        int status;
        const char* message;
        Obstacle want;
    };
    const char* const no_right =
        "jobsets.jobset.x-k8s.io \"job\" is forbidden: User \"x\" cannot get resource \"jobsets\" in API "
        "group \"jobset.x-k8s.io\"";
    const Row rows[] = {
        {"a missing permission", 403, no_right, Obstacle::permission},
        {"a missing permission on owners", 403,
         "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers "
         "on",
         Obstacle::permission},
        {"a webhook that speaks of permissions", 500, no_right, Obstacle::server},
        {"a namespace that ends", 403, "because it is being terminated", Obstacle::passing},
        {"old credentials", 401, "Unauthorized", Obstacle::passing},
        {"a conflict", 409, "the object has been modified", Obstacle::passing},
        {"a timeout", 408, "Timeout", Obstacle::server},
        {"overload", 429, "too many requests", Obstacle::server},
        {"a broken webhook", 500, "failed calling webhook", Obstacle::server},
        {"etcd out of space", 500, "etcdserver: mvcc: database space exceeded", Obstacle::server},
        {"unavailable", 503, "shutting down", Obstacle::server},
        {"no answer", 0, "connection reset", Obstacle::server},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(obstacle_of(server_error(row.status, row.message)) == row.want);
    }
    CHECK(obstacle_of({.code = api::Errc::conflict, .message = "it has changed"}) == Obstacle::passing);
}

TEST_CASE("a kind that is not served is not a webhook's 404, nor a namespace that is gone", "[refusal]") {
    // As the API server answers for a path that it does not know, and as its clients do.
    CHECK(lacks_kind(server_error(404, "404 page not found")));
    CHECK(lacks_kind(server_error(404, "the server could not find the requested resource")));
    CHECK_FALSE(lacks_kind(server_error(404, "namespaces \"vision\" not found")));
    CHECK_FALSE(
        lacks_kind(server_error(404, "admission webhook \"checks.example\" denied the request: not found")));
    CHECK_FALSE(lacks_kind(server_error(403, "forbidden")));
}

}  // namespace lifecycle
