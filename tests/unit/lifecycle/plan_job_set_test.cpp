#include "lifecycle/plan_job_set.hpp"

#include "api/names.hpp"
#include "lifecycle/recreate.hpp"
#include "runtime/applied_hash.hpp"

#include "text.hpp"

namespace lifecycle {
namespace {

using api::Json;
using Step = JobSetPlan::Step;

const runtime::BuildNote note = {.source = "s", .nodes = "-", .runtime = "r", .inputs = "f-o"};

// A JobSet as it is built; `pod` and `labels` are of its Pods.
Json built(const std::string& pod = R"({"image": "a"})", const std::string& labels = "{}",
           runtime::BuildNote of = note) {
    Json job_set = *api::parse_json(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "job", "namespace": "ns"}, "spec": {"suspend": true, "replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {}, "spec": {}}}}}]}})");
    Json& pods = job_set["spec"]["replicatedJobs"].items().front()["template"]["spec"]["template"];
    pods["spec"] = *api::parse_json(pod);
    pods["metadata"]["labels"] = *api::parse_json(labels);
    return runtime::with_applied_hash(std::move(job_set), of);
}

// The JobSet that is there, which was built so and has this status.
Json live(Json job_set = built(), const std::string& counts = R"({"suspended": 1})") {
    job_set["metadata"]["uid"] = "u";
    job_set["metadata"]["resourceVersion"] = "7";
    Json of_job = *api::parse_json(counts);
    of_job["name"] = "node";
    job_set["status"]["replicatedJobsStatus"] = Json::array({std::move(of_job)});
    return job_set;
}

const char* const active = R"({"active": 1})";
const char* const finished = R"({"succeeded": 1})";

Json resumed(Json job_set, const runtime::BuildNote& of = note) {
    job_set["spec"]["suspend"] = false;
    return runtime::with_applied_hash(std::move(job_set), of);
}

api::Error immutable() {
    return {.code = api::Errc::invalid, .message = "spec: field is immutable", .http_status = 422};
}

}  // namespace

TEST_CASE("what a suspended JobSet takes of a change", "[plan]") {
    struct Row {
        const char* name;
        Json wanted, there;
        PlanFacts facts;
        Step want;
    };
    const Json labelled = built(R"({"image": "a"})", R"({"a": "b"})");
    const PlanFacts latest = {.is_latest = true}, cached = {};
    const PlanFacts lost = {.is_latest = true, .lost_volume = "it names volume \"v\", which is gone"};
    const Row rows[] = {
        {"nothing to do", built(), live(), cached, Step::keep},
        {"a resume", resumed(built()), live(), latest, Step::apply},
        {"a new label", labelled, live(), cached, Step::apply},
        {"another image, which the API server may take or not", built(R"({"image": "b"})"), live(), cached,
         Step::apply},
        {"a label goes, and its Jobs are made anew", built(), live(labelled), latest, Step::replace_jobs},
        {"which cannot be undone", built(), live(labelled), cached, Step::needs_live},
        {"and waits for Pods", built(), live(labelled, active), latest, Step::wait},
        {"its volume is lost", built(), live(), lost, Step::recreate},
        {"which cannot be undone either", built(), live(), {.lost_volume = "x"}, Step::needs_live},
        {"and waits for Pods, too", built(), live(built(), active), lost, Step::wait},
        {"its volume is lost after Jobs have finished", built(), live(built(), finished), lost, Step::refuse},
        {"an old view of a JobSet in a queue",
         resumed(built()),
         live(),
         {.is_queued = true},
         Step::needs_live},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(plan_job_set(row.wanted, row.there, row.facts).step == row.want);
    }
}

TEST_CASE("what becomes of a JobSet whose change the API server has refused", "[plan]") {
    struct Row {
        const char* name;
        const char* counts;
        PlanFacts facts;
        api::Error refusal;
        Step want;
    };
    const PlanFacts latest = {.is_latest = true};
    const Row rows[] = {
        {"it is made anew", R"({"suspended": 1})", latest, immutable(), Step::recreate},
        {"once it was read live", R"({"suspended": 1})", {}, immutable(), Step::needs_live},
        {"once no Pod is active", active, latest, immutable(), Step::wait},
        {"for another reason", R"({"suspended": 1})", latest, {.code = api::Errc::conflict}, Step::refuse},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const Json wanted = resumed(built(R"({"image": "b"})"), {.source = "other"}),
                   there = live(built(), row.counts);
        const JobSetPlan plan = plan_job_set(wanted, there, row.facts);
        CHECK(plan_after_refusal(plan, wanted, there, row.facts, row.refusal).step == row.want);
    }
}

TEST_CASE("a JobSet that would lose something takes what it may, and stays as it was built", "[plan]") {
    const runtime::BuildNote other = {.source = "other", .nodes = "2", .runtime = "q", .inputs = "x-y"};
    Json wanted = built(R"({"image": "b", "nodeSelector": {"pool": "spot"}})", "{}", other);
    wanted["spec"]["suspend"] = false;
    wanted = runtime::with_applied_hash(std::move(wanted), other);
    const Json there = live(built(), finished);
    const PlanFacts facts = {.is_latest = true};
    const JobSetPlan plan = plan_job_set(wanted, there, facts);
    CHECK(plan.step == Step::apply);
    CHECK(plan.keeps_template);
    const Json& pod =
        plan.wanted["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"]["template"]["spec"];
    CHECK(pod["image"] == Json("a"));
    CHECK(pod["nodeSelector"]["pool"] == Json("spot"));
    CHECK(plan.wanted["spec"]["suspend"] == Json(false));
    // It still says what it was built from, so a change that is undone is seen as none.
    CHECK(api::applied_note(plan.wanted).source == "s");
    CHECK(api::applied_note(plan.wanted).inputs == "f-o");
    REQUIRE(plan.kept);
    CHECK(plan.kept->is_for_good);
    CHECK(plan.kept->why.find("image is not as the TrainJob and its runtime say now, and a new one would run "
                              "again what has finished") != std::string::npos);
    // Written, it is as it should be.
    const Json after = live(plan.wanted, finished);
    CHECK(plan_job_set(wanted, after, facts).step == Step::keep);
}

TEST_CASE(
    "a JobSet that would lose something stays as it was built where only the API server knows the change",
    "[plan]") {
    const Json wanted = resumed(built("{}"), {.source = "other"}), there = live(built(), finished);
    const PlanFacts facts = {.is_latest = true};
    const JobSetPlan first = plan_job_set(wanted, there, facts);
    CHECK(first.step == Step::apply);
    CHECK_FALSE(first.kept);
    const JobSetPlan plan = plan_after_refusal(first, wanted, there, facts, immutable());
    CHECK(plan.step == Step::apply);
    REQUIRE(plan.kept);
    CHECK(plan.kept->why.starts_with("a field that was removed is not"));
}

TEST_CASE("a resume of an unchanged JobSet needs no build", "[plan]") {
    const auto job = [](const std::string& spec) {
        return api::parse_train_job(
            *api::parse_json(R"({"metadata": {"name": "job"}, "spec": {)" + spec + "}}"));
    };
    const api::TrainJob train_job = job(R"("labels": {"a": "b"})");
    const auto made = [&](bool makes_others) {
        return live(
            built("{}", "{}",
                  {.source = "s", .runtime = "r", .inputs = runtime::inputs_note(train_job, makes_others)}));
    };
    CHECK(resumes_as_it_is(made(false), train_job, "r"));
    CHECK_FALSE(resumes_as_it_is(made(true), train_job, "r"));
    CHECK_FALSE(resumes_as_it_is(made(false), train_job, "another"));
    CHECK_FALSE(resumes_as_it_is(made(false), job(""), "r"));
    CHECK_FALSE(resumes_as_it_is(live(built("{}", "{}", {.runtime = "r"})), job(""), "r"));
    Json withdrawing = made(false), claiming = made(false);
    withdrawing["metadata"]["annotations"][api::withdrawn_annotation] = "x";
    claiming["spec"]["volumeClaimPolicies"] = Json::array({Json::object({})});
    CHECK_FALSE(resumes_as_it_is(withdrawing, train_job, "r"));
    CHECK_FALSE(resumes_as_it_is(claiming, train_job, "r"));
}

}  // namespace lifecycle
