// That the judge can object: what a faithful cluster and a right reconciler never show it.
#include "judge.hpp"

#include <catch2/catch.hpp>

#include "leadership.hpp"
#include "world.hpp"

namespace faults {
namespace {

using api::Json;

Json parsed(const char* text) { return api::parse_json(text).value(); }

Json job_set(const char* name) {
    Json object =
        parsed(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"namespace":"ns",
        "ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job",
        "uid":"theirs","controller":true}]},"spec":{"suspend":true,"replicatedJobs":[{"name":"node",
        "template":{"spec":{"template":{"spec":{}}}}}]}})");
    object["metadata"]["name"] = name;
    return object;
}

/// What a reconciler is made to do in a cluster, and what the judge has to say about it.
struct Trial {
    World world = World();
    Judge judge = Judge(world.api, world.agenda);

    Trial() {
        world.api.changed = [this](const Kind& kind, const api::ObjectKey& key, const Json& before,
                                   const Json& after) { judge.changed(kind, key, before, after, true); };
    }
    void ask(const kube::Request& request) {
        Judge::Meant meant;
        if (const Stored* there = world.api.find_target(request.target)) {
            const api::ObjectMeta meta = api::parse_meta(there->object);
            meant = {meta.uid, meta.resource_version, world.agenda.wall_seconds()};
        }
        judge.asked(0, request, true, meant);
        world.api.handle(request);
    }
    bool objects(const char* to) const {
        for (const std::string& complaint : judge.complaints())
            if (complaint.find(to) != std::string::npos) return true;
        return false;
    }
    void delete_job_set(const char* name) {
        ask(kube::remove(kube::resources::job_sets, {"ns", name}, kube::Propagation::background));
    }
    void run_a_job_of(const char* name) {
        const Stored* owner = world.api.find("jobsets.jobset.x-k8s.io", {"ns", name});
        Json job =
            parsed(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"pods","namespace":"ns"}})");
        job["metadata"]["ownerReferences"] = Json::array({Json::object(
            {{"uid", owner->object["metadata"]["uid"]}, {"name", name}, {"controller", true}})});
        const kube::Resource jobs = {"batch", "v1", "jobs", true};
        world.api.handle(kube::create(jobs, job));
    }
};

}  // namespace

TEST_CASE("the judge objects to two JobSets of one TrainJob, whatever they are called") {
    Trial trial;
    trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
    CHECK_FALSE(trial.objects("two JobSets of one TrainJob"));
    trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job-2")));
    CHECK(trial.objects("two JobSets of one TrainJob: ns/job and ns/job-2"));
}

TEST_CASE("the judge objects to a JobSet whose predecessor has left Jobs behind") {
    for (const bool has_jobs : {false, true}) {
        CAPTURE(has_jobs);
        Trial trial;
        trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
        if (has_jobs) trial.run_a_job_of("job");
        trial.delete_job_set("job");
        trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
        CHECK(trial.objects("was created while Job ns/pods of one that had been deleted") == has_jobs);
    }
}

TEST_CASE("an onlooker knows who may write by who was granted the lease, and when") {
    using namespace std::chrono_literals;
    constexpr kube::SteadyTime start = Agenda::start;
    Leadership leadership;
    CHECK(leadership.fault_of(0, false, start) == "a pass was run by one who never had the lease");
    leadership.granted(0, start);
    CHECK(leadership.fault_of(0, true, start + 9s).empty());
    CHECK(leadership.fault_of(0, true, start + 10s) == "a write was sent after the lease had lapsed");
    CHECK(leadership.fault_of(0, false, start + 10s).empty());
    leadership.granted(1, start + 1s);
    CHECK(leadership.fault_of(0, true, start + 2s) == "a write was sent while somebody else had the lease");
    CHECK(leadership.fault_of(1, true, start + 2s).empty());
    leadership.deleted();
    CHECK(leadership.fault_of(0, true, start + 2s).empty());
}

}  // namespace faults
