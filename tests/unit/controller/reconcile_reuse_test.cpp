// What an earlier TrainJob of the name has left.
#include "kube/client/request.hpp"
#include "life.hpp"

namespace controller {
namespace {

using kube::resources::volume_claims;

const api::ObjectKey claim_key = {"ns", "data-job"};
const char* const claims = R"([{"templates": [{"metadata": {"name": "data"}}]}])";

}  // namespace

TEST_CASE("a JobSet of an earlier TrainJob of the name is said to go", "[reuse]") {
    Life life;
    life.reconcile();
    Json earlier = life.job_set();
    life.server.erase(job_sets, key);
    earlier["metadata"]["ownerReferences"].items().front()["uid"] = "earlier";
    life.server.put(job_sets, earlier);
    life.reconcile();
    CHECK(life.message("Created") ==
          "JobSet ns/job exists already and does not belong to this TrainJob, but to an earlier one of this "
          "name; it will be collected");
}

TEST_CASE("a claim that an earlier TrainJob of the name has left is waited for, and no fault of this one",
          "[reuse]") {
    for (const bool is_deleted : {false, true}) {
        INFO(is_deleted);
        Life life;
        life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] = api::parse_json(claims).value();
        });
        Json claim = api::parse_json(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
            "name": "data-job", "namespace": "ns", "labels": {"jobset.sigs.k8s.io/jobset-name": "job"}},
            "spec": {"accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}})")
                         .value();
        if (is_deleted)
            claim["metadata"]["finalizers"] = Json::array({"kubernetes.io/pvc-protection"});
        else
            claim["metadata"]["ownerReferences"] = api::parse_json(R"([{"kind": "JobSet", "name": "job",
                "apiVersion": "jobset.x-k8s.io/v1alpha2", "uid": "earlier", "controller": true}])")
                                                       .value();
        life.server.put(volume_claims, claim);
        if (is_deleted) life.server.ask_to_delete(volume_claims, claim_key);
        life.reconcile();
        CHECK_FALSE(life.server.find(job_sets, key));
        CHECK(life.condition("Created").empty());
        life.server.erase(volume_claims, claim_key);
        life.reconcile();
        CHECK(life.server.find(job_sets, key));
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    }
}

TEST_CASE("a claim of a JobSet that has not been seen yet is no reason to wait", "[reuse]") {
    Life life;
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] = api::parse_json(claims).value();
    });
    life.server.show(life.cache);
    life.frozen = true;
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.starts_with(status_path)) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
    };
    life.reconcile();
    life.server.refuse = {};
    Json claim = api::parse_json(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
        "name": "data-job", "namespace": "ns"}, "spec": {}})")
                     .value();
    claim["metadata"]["ownerReferences"] = Json::array(
        {Json::object({{"kind", "JobSet"}, {"name", "job"}, {"uid", life.job_set()["metadata"]["uid"]}})});
    life.server.put(volume_claims, claim);
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

}  // namespace controller
