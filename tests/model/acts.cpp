#include "acts.hpp"

#include <algorithm>

#include "api/job_set.hpp"
#include "api/meta.hpp"
#include "api/names.hpp"
#include "api/yaml.hpp"

namespace model {
namespace {

using kube::resources::cluster_training_runtimes;
using kube::resources::config_maps;

const char* const runtime_text = R"({
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "plain"},
    "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node",
        "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                     "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "first"}]}}}}}]}}}})";

const char* const job_text = R"({
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "job", "namespace": "ns"},
    "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "plain"},
             "managedBy": "trainer.kubeflow.org/trainjob-controller"}})";

const api::ObjectKey the_runtime = {"", "plain"};

Json parsed(const std::string& text) { return api::parse_json(text).value(); }

Action patch(const kube::Resource& resource, api::ObjectKey key, Json body) {
    return [resource, key, body](World& world) {
        world.as_user(kube::merge_patch(resource, key, body, kube::Unconditional()));
    };
}

Json runtime_patch(const char* manager, Json pod_template) {
    Json job = Json::object({{"name", "node"}});
    if (!pod_template.is_null()) job["template"]["spec"]["template"] = std::move(pod_template);
    Json patch = Json::object({{"manager", manager}});
    patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"] = Json::array({std::move(job)});
    return patch;
}

// Adds a job that must complete before the only one.
void initialize(Json& replicated_jobs) {
    Json trains = replicated_jobs.items().front();
    trains["dependsOn"] = parsed(R"([{"name":"init","status":"Complete"}])");
    replicated_jobs = Json::array({parsed(R"({"name":"init","template":{"spec":{"template":{
        "metadata":{"labels":{"signalbox.test/run-seconds":"3"}},
        "spec":{"containers":[{"name":"init","image":"first"}]}}}}})"),
                                   std::move(trains)});
}

// Removes what Kubeflow Trainer 2.2's types lose: fields that they lack, and empty lists.
void forget_what_go_lacks(Json& tree) {
    if (tree.is_array())
        for (Json& item : tree.items()) forget_what_go_lacks(item);
    if (!tree.is_object()) return;
    tree.members().erase_if([](const auto& member) {
        return member.key == "resourceClaims" || member.key == "resources" ||
               (member.value.is_array() && member.value.empty());
    });
    for (auto& member : tree.members()) forget_what_go_lacks(member.value);
}

}  // namespace

Action make(const kube::Resource& resource, const std::string& object) {
    return [resource, body = parsed(object)](World& world) { world.as_user(kube::create(resource, body)); };
}
Action change(const kube::Resource& resource, api::ObjectKey key, const std::string& merge_patch) {
    return patch(resource, std::move(key), parsed(merge_patch));
}
Action remove(const kube::Resource& resource, api::ObjectKey key, const char* propagation) {
    return [resource, key, propagation](World& world) {
        kube::Request request =
            kube::remove(resource, key, kube::Propagation::background, kube::Unconditional());
        request.body = to_json(Json::object({{"propagationPolicy", propagation}}));
        world.as_user(request);
    };
}

Action make_runtime(Tweak tweak) {
    return [tweak](World& world) {
        Json runtime = parsed(runtime_text);
        if (tweak) tweak(runtime);
        world.as_user(kube::create(cluster_training_runtimes, runtime));
    };
}

Action change_runtime(const std::string& merge_patch) {
    return patch(cluster_training_runtimes, the_runtime, parsed(merge_patch));
}
Action remove_runtime() { return remove(cluster_training_runtimes, the_runtime, "Background"); }

Tweak nodes(int count) {
    return [count](Json& runtime) { runtime["spec"]["mlPolicy"]["numNodes"] = count; };
}
Tweak ttl(int seconds) {
    return [seconds](Json& runtime) { runtime["spec"]["ttlSecondsAfterFinished"] = seconds; };
}
Tweak run_policy(const std::string& policy) {
    return [policy = parsed(policy)](Json& runtime) { runtime["spec"]["runPolicy"] = policy; };
}
Tweak volume_claims(const char* when_deleted) {
    return [when_deleted](Json& runtime) {
        Json policy = parsed(
            R"({"templates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"]}}]})");
        policy["retentionPolicy"]["whenDeleted"] = when_deleted;
        Json& spec = runtime["spec"]["template"]["spec"];
        spec["volumeClaimPolicies"] = Json::array({policy});
        Json& pod = spec["replicatedJobs"].items().back()["template"]["spec"]["template"]["spec"];
        pod["containers"].items().front()["volumeMounts"] =
            Json::array({Json::object({{"name", "data"}, {"mountPath", "/data"}})});
    };
}
Tweak initializer() {
    return [](Json& runtime) { initialize(runtime["spec"]["template"]["spec"]["replicatedJobs"]); };
}
Tweak initialized() {
    return [](Json& job_set) { initialize(job_set["spec"]["replicatedJobs"]); };
}
Tweak built_alike() {
    return [](Json& job_set) {
        job_set["spec"]["replicatedJobs"].items().back()["template"]["spec"].erase("backoffLimit");
    };
}
Tweak own_restarts(int most) {
    return [most](Json& runtime) {
        runtime["spec"]["template"]["spec"]["failurePolicy"] = Json::object({{"maxRestarts", most}});
    };
}
Tweak companion() {
    return [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["replicatedJobs"].push_back(
            parsed(R"({"name":"side","template":{"spec":{"template":{
                "metadata":{"labels":{"signalbox.test/run-seconds":"never"}},
                "spec":{"containers":[{"name":"side","image":"first"}]}}}}})"));
    };
}
Tweak nameless_rule() {
    return [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["failurePolicy"] =
            parsed(R"({"maxRestarts":1,"rules":[{"name":"","action":"FailJobSet"}]})");
    };
}

Action make_job(Tweak first, Tweak second, Tweak third) {
    return [=](World& world) {
        Json job = parsed(job_text);
        for (const Tweak& tweak : {first, second, third})
            if (tweak) tweak(job);
        world.as_user(kube::create(train_jobs, job));
    };
}
Action change_job(const std::string& merge_patch) { return patch(train_jobs, the_job, parsed(merge_patch)); }
Action change_job(Tweak tweak) {
    Json body = Json::object();
    tweak(body);
    return patch(train_jobs, the_job, body);
}
Action remove_job(const char* propagation) { return remove(train_jobs, the_job, propagation); }

Tweak set(const char* member, const std::string& value) {
    return [member = std::string(member), value = parsed(value)](Json& job) { job["spec"][member] = value; };
}

std::string pods_that(const std::string& seconds, const std::string& outcome) {
    return R"("signalbox.test/run-seconds":")" + seconds + "\"" +
           (outcome.empty() ? "" : R"(,"signalbox.test/outcome":")" + outcome + "\"");
}

Tweak with(const std::string& labels, const std::string& more_labels, const std::string& node_selector) {
    Json pod;
    pod["metadata"]["labels"] = parsed("{" + labels + (more_labels.empty() ? "" : "," + more_labels) + "}");
    if (!node_selector.empty()) pod["spec"]["nodeSelector"] = parsed(node_selector);
    return [pod](Json& job) {
        job["spec"]["runtimePatches"] = Json::array({runtime_patch("example.com/test", pod)});
    };
}

Tweak with_affinity(const std::string& labels, const std::string& zone) {
    Json pod;
    pod["metadata"]["labels"] = parsed("{" + labels + "}");
    pod["spec"]["affinity"]["zone"] = zone;
    return [pod](Json& job) {
        job["spec"]["runtimePatches"] = Json::array({runtime_patch("example.com/test", pod)});
    };
}

Tweak with_claims() {
    return [](Json& job) {
        Json& patch = job["spec"]["runtimePatches"].items().front();
        Json& replicated = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"].items().front();
        Json& pod = replicated["template"]["spec"]["template"]["spec"];
        pod["resourceClaims"] = parsed(R"([{"name":"gpu","resourceClaimTemplateName":"gpus"}])");
        pod["containers"] =
            parsed(R"([{"name":"node","volumeMounts":[],"resources":{"claims":[{"name":"gpu"}]}}])");
    };
}

Tweak label(const std::string& name, const std::string& value) {
    return [=](Json& job) { job["metadata"]["labels"][name] = value; };
}

Action kueue_writes(const std::string& node_selector, bool suspend) {
    Json added;
    if (const Json selector = parsed(node_selector); !selector.is_null()) {
        added["metadata"]["labels"]["kueue.x-k8s.io/podset"] = "node";
        added["spec"]["nodeSelector"] = selector;
    }
    const Json patch = runtime_patch("kueue.x-k8s.io/manager", added);
    return [=](World& world) {
        Json job = world.api.find("trainjobs.trainer.kubeflow.org", the_job)->object;
        forget_what_go_lacks(job["spec"]["runtimePatches"]);
        Json::Array& patches = job["spec"]["runtimePatches"].items();
        std::erase_if(patches, [&](const Json& entry) { return entry["manager"] == patch["manager"]; });
        patches.push_back(patch);
        job["spec"]["suspend"] = suspend;
        world.as_user(kube::replace(train_jobs, job), std::string(ApiModel::kueue));
    };
}

Action make_foreign_job_set() {
    return [](World& world) {
        Json job_set = parsed(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
            "metadata":{"name":"job","namespace":"ns"},"spec":{"suspend":true,"replicatedJobs":[{"name":"x"}]}})");
        world.as_user(kube::create(job_sets, job_set));
    };
}

Action make_foreign_snapshot() {
    return [](World& world) {
        Json map = parsed(R"({"apiVersion":"v1","kind":"ConfigMap",
            "metadata":{"name":"job-runtime-snapshot","namespace":"ns"},"data":{"runtime":"{}"}})");
        world.as_user(kube::create(config_maps, map));
    };
}

Action forge_snapshots() {
    return [](World& world) {
        const api::ObjectKey key = {the_job.ns, the_job.name + "-runtime-snapshot"};
        const auto forge = [&world, key](const std::string& uid) {
            const Stored* stored = world.api.find("configmaps", key);
            if (!stored || stored->uid() != uid) return;
            const Json& metadata = std::as_const(stored->object)["metadata"];
            Json map = Json::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"immutable", true}});
            for (const char* member : {"name", "namespace", "ownerReferences"})
                map["metadata"][member] = metadata[member];
            Json runtime = api::parse_yaml(stored->object["data"]["runtime"].as_string()).value();
            runtime["spec"]["mlPolicy"]["numNodes"] = 7;
            Json& job = runtime["spec"]["template"]["spec"]["replicatedJobs"].items().back();
            Json& pods = job["template"]["spec"]["template"]["spec"];
            pods["hostNetwork"] = true;
            pods["containers"].items().front()["image"] = "forged";
            map["data"]["runtime"] = to_json(runtime);
            world.as_user(
                kube::remove(config_maps, key, kube::Propagation::background, kube::Unconditional()));
            world.as_user(kube::create(config_maps, map));
        };
        world.invariants.tenant_replaces_snapshots = true;
        const auto changed = world.api.changed;
        world.api.changed = [&world, key, forge, changed](const Kind& kind, const api::ObjectKey& which,
                                                          const Json& before, const Json& after) {
            changed(kind, which, before, after);
            if (kind.kind != "ConfigMap" || which != key || !before.is_null() || after.is_null()) return;
            if (to_json(after).find("forged") != std::string::npos) return;
            const std::string uid = api::parse_meta(after).uid;
            world.time.after(world.lag(1, 3000), [forge, uid] { forge(uid); });
        };
    };
}

Action change_job_set(const std::string& merge_patch) {
    return patch(job_sets, the_job, parsed(merge_patch));
}
Action remove_job_set(const char* propagation) { return remove(job_sets, the_job, propagation); }

Action make_late_job_set() {
    return [](World& world) {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        if (!job) return;
        Json job_set = parsed(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
            "metadata":{"name":"job","namespace":"ns"},"spec":{"replicatedJobs":[{"name":"node",
            "template":{"spec":{"template":{"metadata":{"labels":{"signalbox.test/run-seconds":"never"}}}}}}]}})");
        job_set["metadata"]["ownerReferences"] =
            Json::array({api::controller_reference(api::parse_meta(job->object))});
        world.as_user(kube::create(job_sets, job_set));
    };
}

Action apply_original_job_set(Tweak tweak) {
    return [tweak](World& world) {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        if (!job) return;
        Json job_set = parsed(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
            "metadata":{"name":"job","namespace":"ns"},"spec":{"suspend":false,"replicatedJobs":[{"name":"node",
            "replicas":1,"template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
            "spec":{"backoffLimit":3,"parallelism":1,"completions":1,"template":{
            "metadata":{"labels":{"signalbox.test/run-seconds":"never"}},
            "spec":{"containers":[{"name":"node","image":"first"}]}}}}}]}})");
        job_set["metadata"]["ownerReferences"] =
            Json::array({api::controller_reference(api::parse_meta(job->object))});
        if (tweak) tweak(job_set);
        world.as_user(kube::apply(job_sets, job_set, kube::Unconditional(), true), "trainer");
    };
}

Action set_conditions(const std::string& conditions) {
    return set_status(R"({"conditions":)" + conditions + "}");
}
Action set_status(const std::string& status) {
    return [status = parsed(status)](World& world) {
        kube::Request request =
            kube::merge_patch(train_jobs, the_job, Json::object({{"status", status}}), kube::Unconditional());
        request.target.insert(request.target.find('?'), "/status");
        world.as_user(request, "trainer");
    };
}
Action complete_elsewhere() {
    return [](World& world) {
        set_conditions(
            R"([{"type":"Complete","status":"True","reason":"AllJobsCompleted","message":"","lastTransitionTime":")" +
            api::format_time(world.time.wall_seconds()) + "\"}]")(world);
    };
}

Action hold(const kube::Resource& resource, api::ObjectKey key) {
    return change(resource, std::move(key), R"({"metadata":{"finalizers":["example.com/hold"]}})");
}
Action release(const kube::Resource& resource, api::ObjectKey key) {
    return change(resource, std::move(key), R"({"metadata":{"finalizers":null}})");
}
Action hold(const kube::Resource& resource) { return hold(resource, the_job); }
Action release(const kube::Resource& resource) { return release(resource, the_job); }

Action change_new(const char* kind, Tweak tweak) {
    return [=](World& world) {
        world.api.mutate_create = [=](const Kind& of, Json& object) {
            if (of.kind == kind) tweak(object);
        };
    };
}
Action change_new_job_sets(Tweak tweak) { return change_new("JobSet", std::move(tweak)); }
Tweak pod_label(const std::string& name, const std::string& value) {
    return [=](Json& job) { job["spec"]["template"]["metadata"]["labels"][name] = value; };
}
Tweak other_image() {
    return [](Json& job_set) {
        Json& pod = job_set["spec"]["replicatedJobs"].items().front()["template"]["spec"]["template"];
        Json& image = pod["spec"]["containers"].items().front()["image"];
        image = "mirror/" + std::string(std::as_const(image).as_string());
    };
}
Action expect_no_pods() {
    return [](World& world) { world.invariants.pods_are_unread = true; };
}
Action expect_no_notes() {
    return [](World& world) { world.invariants.cluster_takes_notes = true; };
}
Tweak no_annotations() {
    return [](Json& job_set) { job_set["metadata"].erase("annotations"); };
}

Action both(Action first, Action second) {
    return [=](World& world) {
        first(world);
        second(world);
    };
}

Tweak both(Tweak first, Tweak second) {
    return [=](Json& object) {
        first(object);
        second(object);
    };
}

Action once_suspended(Action act, std::chrono::milliseconds pause, Action next) {
    return [=](World& world) {
        const Stored* stored = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        const auto job = stored ? api::parse_train_job(stored->object) : api::TrainJob();
        const bool rests = !job.jobs_status.empty() && !api::any_active(job.jobs_status);
        if (!rests || !api::is_true(job.conditions, api::condition::suspended)) {
            world.time.after(1s, [=, &world] { once_suspended(act, pause, next)(world); });
            return;
        }
        act(world);
        if (next) world.time.after(pause, [next, &world] { next(world); });
    };
}

}  // namespace model
