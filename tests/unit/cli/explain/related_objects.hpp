#pragma once
// A TrainJob and its related objects, for tests of `kubectl trainjob explain`.
#include "explain/model.hpp"
#include "fixtures.hpp"

namespace cli {

using api::Json;
using namespace std::chrono_literals;

inline constexpr const char* job_text = R"({
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
    "metadata": {"name": "night", "namespace": "vision", "uid": "u1", "creationTimestamp": "2026-01-15T11:00:00Z"},
    "spec": {"runtimeRef": {"name": "torch"}, "activeDeadlineSeconds": 7200,
             "managedBy": "trainer.kubeflow.org/trainjob-controller"},
    "status": {"runPolicy": {"ttlSecondsAfterFinished": 600},
               "conditions": [{"type": "Created", "status": "True", "reason": "JobsCreationSucceeded", "message": "done",
                               "lastTransitionTime": "2026-01-15T11:00:05Z"}]}})";
inline constexpr const char* runtime_text = R"({
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"},
    "spec": {"ttlSecondsAfterFinished": 600, "mlPolicy": {"numNodes": 1}}})";
inline constexpr const char* job_set_text = R"({
    "metadata": {"name": "night", "namespace": "vision",
                 "ownerReferences": [{"controller": true, "uid": "u1", "kind": "TrainJob", "name": "night",
                                      "apiVersion": "trainer.kubeflow.org/v1alpha1"}]},
    "status": {"replicatedJobsStatus": [{"name": "node", "active": 1, "ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}]}})";

inline Json lease(const std::string& renewed, const char* holder) {
    return Json::object({{"spec", Json::object({{"renewTime", "2026-01-15T" + renewed + "Z"},
                                                {"leaseDurationSeconds", 15},
                                                {"holderIdentity", holder}})}});
}

inline RelatedObjects running() {
    RelatedObjects seen;
    seen.job = parsed(job_text);
    seen.runtime.found = parsed(runtime_text);
    seen.job_set.found = parsed(job_set_text);
    seen.lease_key = {"kubeflow-system", "trainer.kubeflow.org"};
    seen.lease.found = lease("11:59:58.123456", "a");
    return seen;
}

/// Makes the JobSet an attempt under a failure policy, after so many restarts, of which one counts.
inline void make_attempt(RelatedObjects& seen, const std::string& number, const std::string& avoided = "") {
    Json& annotations = seen.job_set.found["metadata"]["annotations"];
    annotations["trainer.kubeflow.org/attempt"] = number;
    annotations["trainer.kubeflow.org/restarts-before"] = number + ",1";
    if (!avoided.empty()) annotations["trainer.kubeflow.org/excluded-nodes"] = avoided;
}

inline void add_snapshot(RelatedObjects& seen) {
    seen.snapshot.found = parsed(R"({"metadata": {"name": "night-runtime-snapshot", "ownerReferences": [
        {"controller": true, "uid": "u1", "kind": "TrainJob", "name": "night", "apiVersion": "trainer.kubeflow.org/v1alpha1"}]}})");
    seen.snapshot.found["data"]["runtime"] = api::to_json(seen.runtime.found);
}

inline Json pod(const std::string& name, const std::string& rest) {
    Json made = parsed(rest);
    made["metadata"]["name"] = name;
    return made;
}

inline Json condition(const char* type, const char* status, const char* reason, const char* message = "") {
    return Json::object({{"type", type},
                         {"status", status},
                         {"reason", reason},
                         {"message", message},
                         {"lastTransitionTime", "2026-01-15T11:30:00Z"}});
}

inline std::string screen(const RelatedObjects& seen, const Terminal& terminal = {}) {
    return draw_text(explanation_of(seen, now), terminal).str();
}

inline Json document_of(const RelatedObjects& seen) { return document_of(explanation_of(seen, now)); }

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace cli
