// Jobs with more objects than a JobSet and a snapshot, and jobs that cannot be built at first.
#include <algorithm>

#include "acts.hpp"
#include "api/meta.hpp"
#include "scenario_lists.hpp"
#include "support/pod_groups.hpp"
#include "support/protection.hpp"

namespace model {
namespace {

using namespace ends;
using kube::resources::resource_claims;
using kube::resources::secrets;
using kube::resources::services;
using test::pod_groups;
using test::volcano_pod_groups;

const api::ObjectKey keys_of_job = {the_job.ns, "job-mpi-ssh-auth"};
const api::ObjectKey hosts_of_job = {the_job.ns, "job-mpi-hostfile"};
const api::ObjectKey claim = {the_job.ns, "gpus"};
const char* const resume = R"({"spec":{"suspend":false}})";

Json parsed(const char* text) { return api::parse_json(text).value(); }

// A launcher beside the nodes.
Tweak mpi() {
    return [](Json& runtime) {
        runtime["spec"]["mlPolicy"] = parsed(R"({"numNodes":2,"mpi":{"mpiImplementation":"OpenMPI",
            "numProcPerNode":1,"sshAuthMountPath":"/root/.ssh","runLauncherAsNode":false}})");
        Json& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"];
        jobs.items().push_back(parsed(R"({"name":"launcher","template":{"spec":{"template":{"spec":{
            "containers":[{"name":"node","image":"first"}]}}}}})"));
    };
}

Tweak gang(const char* policy) {
    return [policy](Json& runtime) {
        runtime["spec"]["podGroupPolicy"] = parsed(policy);
        runtime["spec"]["mlPolicy"]["numNodes"] = 2;
    };
}
const char* const coscheduling = R"({"coscheduling":{"scheduleTimeoutSeconds":60}})";
const char* const volcano = R"({"volcano":{}})";
const char* const native = R"({"kubernetes":{}})";
const char* const gang_running = "+PodsReady +JobsCreationSucceeded; running; snapshot; 1 active";
const char* const gang_resumed = "-Resumed +PodsReady +JobsCreationSucceeded; running; snapshot; 1 active";

// A budget against evictions, and a network of the job's own.
Tweak protection() {
    return [](Json& runtime) {
        runtime["spec"]["runPolicy"]["disruptionBudget"] = true;
        runtime["spec"]["networkPolicy"] = "Isolated";
    };
}

// Its container uses the claim.
Tweak claiming() {
    return [](Json& runtime) {
        runtime["spec"]["mlPolicy"] = parsed(R"({"numNodes":1,"torch":{"numProcPerNode":"auto"}})");
        Json& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"];
        Json& pod = jobs.items().front()["template"]["spec"]["template"]["spec"];
        pod["resourceClaims"] = parsed(R"([{"name":"gpu","resourceClaimName":"gpus"}])");
        pod["containers"].items().front()["resources"] = parsed(R"({"claims":[{"name":"gpu"}]})");
    };
}
const char* const claim_text = R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
    "metadata":{"name":"gpus","namespace":"ns"},"spec":{"devices":{"requests":[
    {"name":"gpu","exactly":{"deviceClassName":"gpu.example.com","count":2}}]}}})";

const char* const foreign_group = R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup",
    "metadata":{"name":"job","namespace":"ns"},"spec":{"minMember":9}})";

const char* const foreign_service = R"({"apiVersion":"v1","kind":"Service",
    "metadata":{"name":"job","namespace":"ns"},"spec":{"selector":{"app":"inference"}}})";

// A second trainer.
Tweak two_trainers() {
    return [](Json& runtime) {
        Json& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"];
        Json second = jobs.items().front();
        second["name"] = "second";
        jobs.items().push_back(std::move(second));
    };
}
const char* const one_trainer = R"({"spec":{"template":{"spec":{"replicatedJobs":[{"name":"node",
    "template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
                "spec":{"template":{"spec":{"containers":[{"name":"node","image":"first"}]}}}}}]}}}})";

Tweak patch_of_no_job() {
    return set("runtimePatches", R"([{"manager":"example.com/test","trainingRuntimeSpec":{"template":{"spec":{
        "replicatedJobs":[{"name":"absent","template":{"metadata":{"labels":{"a":"b"}}}}]}}}}])");
}

bool is_ours(const World& world, const Json& object) {
    const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
    return job && api::parse_meta(object).controller_uid == api::parse_meta(job->object).uid;
}

std::ptrdiff_t lines_of(const Stored& host_file) {
    const std::string_view text = host_file.object["data"]["hostfile"].as_string();
    return std::count(text.begin(), text.end(), '\n');
}

Check has_hosts_of_its_nodes() {
    return [](const World& world) -> std::string {
        const Stored* list = world.api.find("configmaps", hosts_of_job);
        const Stored* job_set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        if (!list || !job_set) return "it has no host file or no JobSet";
        const Json& node = job_set->object["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"];
        // A reconciler that was down until the end has not put it back.
        const bool is_of_others = lines_of(*list) == 0;
        return is_of_others || lines_of(*list) == node["parallelism"].int_or(0)
                   ? ""
                   : "its host file is not of its nodes";
    };
}

Check has_hosts_and_keys(int hosts) {
    return [hosts](const World& world) -> std::string {
        const Stored* key_pair = world.api.find("secrets", keys_of_job);
        const Stored* list = world.api.find("configmaps", hosts_of_job);
        if (!key_pair || !is_ours(world, key_pair->object)) return "it has no keys of its own";
        if (!list || !is_ours(world, list->object)) return "it has no host file of its own";
        const auto lines = lines_of(*list);
        return lines == hosts ? "" : "its host file has " + std::to_string(lines) + " lines";
    };
}

Check has_own_service() {
    return [](const World& world) -> std::string {
        const Stored* service = world.api.find("services", the_job);
        const Stored* job_set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const bool is_its_own =
            service && job_set &&
            api::parse_meta(service->object).controller_uid == api::parse_meta(job_set->object).uid;
        return is_its_own ? "" : "its JobSet has no Service of its own";
    };
}

Check has_gang(const char* resource) {
    return [resource](const World& world) -> std::string {
        const Stored* group = world.api.find(resource, the_job);
        if (!group || !is_ours(world, group->object)) return "it has no PodGroup of its own";
        const auto members = group->object["spec"]["minMember"].int_or(0);
        return members == 2 ? "" : "its PodGroup has " + std::to_string(members) + " members";
    };
}

// Kubernetes' own scheduler places the Pods of a run by a PodGroup, which goes with them.
Check has_gang_while_it_runs() {
    return [](const World& world) -> std::string {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        const Stored* job_set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const Stored* group = world.api.find("podgroups.scheduling.k8s.io", the_job);
        const bool runs = job && job_set && !job_set->object["spec"]["suspend"].bool_or(false) &&
                          !api::terminal_condition(api::parse_train_job(job->object));
        if (!runs) return group ? "it has a PodGroup, which keeps its devices" : "";
        if (!group || !is_ours(world, group->object)) return "it has no PodGroup of its own";
        return api::parse_meta(group->object).deletion ? "its PodGroup goes" : "";
    };
}

// Returns the version of the first change of such an object that is as `is_such` says; nullopt: none was.
template <class IsSuch>
std::optional<std::uint64_t> first_version(const World& world, const char* resource, IsSuch is_such) {
    for (const Change& change : world.api.history(resource))
        if (change.key == the_job && is_such(parsed(change.text->c_str()))) return change.version;
    return std::nullopt;
}

// The budget would stop a drain for nothing where no Pod runs. Pods are never without the policy.
Check is_protected() {
    return [](const World& world) -> std::string {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        const Stored* job_set = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const Stored* budget = world.api.find("poddisruptionbudgets.policy", the_job);
        const Stored* policy = world.api.find("networkpolicies.networking.k8s.io", the_job);
        const bool runs = job && job_set && !job_set->object["spec"]["suspend"].bool_or(false) &&
                          !api::terminal_condition(api::parse_train_job(job->object));
        if (!runs && budget) return "it has a disruption budget and no Pods";
        if (runs && (!budget || !is_ours(world, budget->object))) return "it has no disruption budget";
        if (!policy || !is_ours(world, policy->object)) return "it has no network policy";
        const auto run = first_version(world, "jobsets.jobset.x-k8s.io", [](const Json& each) {
            return !each["spec"]["suspend"].bool_or(false);
        });
        const auto isolated =
            first_version(world, "networkpolicies.networking.k8s.io", [](const Json&) { return true; });
        return run && *isolated > *run ? "its Pods began without a network policy" : "";
    };
}

}  // namespace

std::vector<Scenario> other_objects() {
    return {
        {"an MPI job is resumed with other nodes",
         {{1s, make_runtime(mpi())},
          {2s, make_job(set("suspend", "true"))},
          {20s, change_job(R"({"spec":{"trainer":{"numNodes":3}}})")},
          {30s, once_suspended(change_job(resume))}},
         {resumed_and_completed},
         {"JobSetDeleted", "AllJobsCompleted", "JobsCreationSucceeded", "Resumed", "Suspended",
          "WaitingForDeletion"},
         900s,
         has_hosts_and_keys(3)},
        // Its host file is put back for the nodes that it has.
        {"an MPI job with volumes is resized while its JobSet is being resumed, and keeps its nodes",
         {{1s, make_runtime(both(mpi(), volume_claims()))},
          {2s, make_job(with(pods_that("60")), set("suspend", "true"), set("trainer", R"({"numNodes":2})"))},
          {30s, change_job(resume)},
          {30s + 20ms, change_job(R"({"spec":{"suspend":true}})")},
          {30s + 22ms, change_job(R"({"spec":{"trainer":{"numNodes":3}}})")},
          {30s + 24ms, change_job(resume)},
          {50s, change(kube::resources::config_maps, hosts_of_job, R"({"data":{"hostfile":"others"}})")},
          {55s, change_job(R"({"metadata":{"labels":{"a":"b"}}})")}},
         {resumed_and_completed, completed},
         {"JobSetKept", "AllJobsCompleted", "JobsCreationSucceeded", "Resumed", "Suspended"},
         900s,
         has_hosts_of_its_nodes(),
         all_of({same_job_set(), has_hosts_and_keys(2)})},
        {"a job gets the number of nodes of its runtime while its JobSet is being resumed",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {30s, change_job(resume)},
          {30s + 20ms, change_job(R"({"spec":{"suspend":true}})")},
          {30s + 22ms, change_job(R"({"spec":{"trainer":{"numNodes":1}}})")},
          {30s + 24ms, change_job(resume)}},
         {resumed_and_running, running},
         {"JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         same_job_set()},
        {"a suspended MPI job gets other nodes, and others again",
         {{1s, make_runtime(mpi())},
          {2s, make_job(set("suspend", "true"))},
          {20s, change_job(R"({"spec":{"trainer":{"numNodes":3}}})")},
          {26s, change_job(R"({"spec":{"trainer":{"numNodes":4}}})")}},
         {held},
         {"JobSetDeleted", "JobsCreationSucceeded", "Suspended", "WaitingForDeletion"},
         600s,
         has_hosts_and_keys(4)},
        refusable({"a name of an MPI job is used again while its keys are held",
                   {{1s, make_runtime(mpi())},
                    {2s, make_job(with(pods_that("never")))},
                    {15s, hold(secrets, keys_of_job)},
                    {20s, remove_job("Background")},
                    {21s, make_job()},
                    {80s, release(secrets, keys_of_job)}},
                   {completed},
                   {"AllJobsCompleted", "JobsCreationFailed", "JobsCreationSucceeded"},
                   900s,
                   has_hosts_and_keys(2)}),
        {"others meddle with the PodGroup of a suspended job",
         {{1s, make_runtime(gang(coscheduling))},
          {2s, make_job(set("suspend", "true"))},
          {20s, change(pod_groups, the_job, R"({"spec":{"minMember":7}})")},
          {23s, change(pod_groups, the_job, R"({"spec":{"minMember":6}})")},
          {30s, remove(pod_groups, the_job, "Background")},
          {50s, change(pod_groups, the_job, R"({"spec":{"minMember":8}})")}},
         {held},
         {"Suspended", "JobsCreationSucceeded"},
         600s,
         has_gang("podgroups.scheduling.x-k8s.io")},
        {"a PodGroup of another owner is in the way, then goes",
         {{0s, make(volcano_pod_groups, foreign_group)},
          {1s, make_runtime(gang(volcano))},
          {2s, make_job()},
          {45s, remove(volcano_pod_groups, the_job, "Background")}},
         {completed},
         {"JobsCreationFailed", "AllJobsCompleted", "JobsCreationSucceeded"},
         600s,
         has_gang("podgroups.scheduling.volcano.sh")},
        {"a gang of Kubernetes' own scheduler is suspended and resumed",
         {{1s, make_runtime(gang(native))},
          {2s, make_job(with(pods_that("never")))},
          {30s, change_job(R"({"spec":{"suspend":true}})")},
          {60s, once_suspended(change_job(resume))}},
         {gang_resumed, gang_running},
         {"JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         has_gang_while_it_runs()},
        {"a gang of Kubernetes' own scheduler is resumed while its Pods still end",
         {{1s, make_runtime(gang(native))},
          {2s, make_job(with(pods_that("never")))},
          {30s, change_job(R"({"spec":{"suspend":true}})")},
          {30s + 500ms, change_job(resume)}},
         {gang_resumed, gang_running},
         {"JobsCreationSucceeded", "Resumed", "Suspended", "WaitingForPods"},
         600s,
         has_gang_while_it_runs()},
        {"a gang of Kubernetes' own scheduler stays suspended",
         {{1s, make_runtime(gang(native))},
          {2s, make_job(with(pods_that("never")))},
          {30s, change_job(R"({"spec":{"suspend":true}})")}},
         {held},
         {"JobsCreationSucceeded", "Suspended"},
         600s,
         has_gang_while_it_runs()},
        {"a gang of Kubernetes' own scheduler completes",
         {{1s, make_runtime(gang(native))}, {2s, make_job()}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded"},
         600s,
         has_gang_while_it_runs()},
        {"the PodGroup of a gang that runs is deleted by a user",
         {{1s, make_runtime(gang(native))},
          {2s, make_job(with(pods_that("never")))},
          {30s, remove(test::native_pod_groups, the_job, "Background")},
          {60s, change_job(R"({"spec":{"suspend":true}})")},
          {90s, once_suspended(change_job(resume))}},
         {gang_resumed, gang_running},
         {"JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         has_gang_while_it_runs()},
        {"a protected job is suspended and resumed",
         {{1s, make_runtime(protection())},
          {2s, make_job(with(pods_that("never")))},
          {30s, change_job(R"({"spec":{"suspend":true}})")},
          {60s, once_suspended(change_job(resume))}},
         {resumed_and_running, running},
         {"JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         is_protected()},
        {"a protected job stays suspended",
         {{1s, make_runtime(protection())},
          {2s, make_job(with(pods_that("never")))},
          {30s, change_job(R"({"spec":{"suspend":true}})")}},
         {held},
         {"JobsCreationSucceeded", "Suspended"},
         600s,
         is_protected()},
        {"a protected job completes",
         {{1s, make_runtime(protection())}, {2s, make_job()}},
         {completed},
         {"AllJobsCompleted", "JobsCreationSucceeded"},
         600s,
         is_protected()},
        {"a user deletes what protects a job that runs",
         {{1s, make_runtime(protection())},
          {2s, make_job(with(pods_that("never")))},
          {30s, remove(test::disruption_budgets, the_job, "Background")},
          {30s, remove(test::network_policies, the_job, "Background")}},
         {running},
         {"JobsCreationSucceeded"},
         600s,
         is_protected()},
        // JobSet does not notice that it goes.
        {"a Service of another owner has the name of the job's, then goes",
         {{0s, make(services, foreign_service)},
          {1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {150s, remove(services, the_job, "Background")}},
         {running},
         {"JobsCreationSucceeded", "ServiceTaken"},
         1200s,
         has_own_service()},
        {"the claim of a suspended job is being deleted as it is resumed",
         {{0s, make(resource_claims, claim_text)},
          {1s, make_runtime(claiming())},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {10s, hold(resource_claims, claim)},
          {20s, remove(resource_claims, claim, "Background")},
          {30s, change_job(resume)},
          {80s, release(resource_claims, claim)}},
         {resumed_and_running, running},
         {"JobsCreationSucceeded", "Resumed", "Suspended"}},
        prompt({"a TrainJob cannot be built, and is corrected",
                {{1s, make_runtime()},
                 {2s, make_job(patch_of_no_job())},
                 {45s, change_job(R"({"spec":{"runtimePatches":null}})")}},
                // Nothing is corrected before a reconcile has said what is wrong.
                {completed, "-JobsBuildFailed; no JobSet; no snapshot; 0 active"},
                {"JobsBuildFailed", "AllJobsCompleted", "JobsCreationSucceeded"}},
               47s),
        prompt({"a runtime cannot be built from, and is corrected",
                {{1s, make_runtime(two_trainers())}, {2s, make_job()}, {45s, change_runtime(one_trainer)}},
                {completed},
                {"JobsBuildFailed", "AllJobsCompleted", "JobsCreationSucceeded"}},
               47s),
    };
}

}  // namespace model
