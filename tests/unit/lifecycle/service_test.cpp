// The headless Service of a JobSet, and a Service of another owner with its name.
#include "lifecycle/service.hpp"

#include "lifecycle/stall.hpp"
#include "story.hpp"

namespace lifecycle {
namespace {

using api::Json;

constexpr const char* taken_text =
    "Service default/job exists already, so host names of Pods do not resolve: delete it, or name the "
    "TrainJob "
    "otherwise";
constexpr const char* gone_text =
    "Service default/job, which was not the JobSet's, is gone, and JobSet has not made its own yet";

Observed served(Observed observed = running()) {
    observed.job_set->service = "job";
    return observed;
}

bool wants(const Story& story, std::chrono::seconds elapsed, const Outcome& outcome = {}) {
    const api::Time then = start + elapsed;
    return wants_service(story.observed, decide(story.observed, then), outcome, then);
}

// A reconcile as the reconciler does it: it looks when it is to.
Conclusion look(Story& story, std::chrono::seconds elapsed, ServiceLook found, Outcome outcome = {}) {
    if (wants(story, elapsed)) outcome.service_look = found;
    story.now = start + elapsed;
    return story.reconcile(outcome);
}

Json parsed(const char* text) { return *api::parse_json(text); }

}  // namespace

TEST_CASE("the Service of a JobSet is looked at once, half a minute after its creation", "[stall]") {
    Story story{.observed = served()};
    CHECK(look(story, 0s, ServiceLook::usable).requeue_after == 30s);
    CHECK_FALSE(wants(story, 29s));
    CHECK(wants(story, 30s));
    CHECK_FALSE(look(story, 30s, ServiceLook::usable).requeue_after);
    CHECK_FALSE(wants(story, 24h));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet without a headless Service, or that is going, has none to look at", "[stall]") {
    Observed deleted = served();
    deleted.job_set->meta.deletion = start;
    Observed job_deleted = served();
    job_deleted.job->meta.deletion = start;
    Observed of_another = served();
    make_foreign(of_another);
    for (const Observed& observed : {running(), deleted, job_deleted, of_another, served(completed())}) {
        Story story{.observed = observed};
        CHECK_FALSE(wants(story, 30s));
    }
    CHECK_FALSE(wants(Story{.observed = served()}, 30s, {.result = ReadFailed{"JobSet", lost_connection}}));
}

TEST_CASE("a Service of another owner stalls the TrainJob until it is gone and the JobSet has its own",
          "[stall]") {
    for (const Observed& observed : {served(), served(suspended())}) {
        Story story{.observed = observed};
        look(story, 0s, ServiceLook::taken);
        look(story, 30s, ServiceLook::taken);
        CHECK(story.says().ends_with("Stalled=True/ServiceTaken"));
        CHECK(story.message("Stalled") == taken_text);
        CHECK(story.reported.ends_with("30 ServiceTaken"));
        look(story, 45s, ServiceLook::absent);
        CHECK(story.message("Stalled") == gone_text);
        look(story, 60s, ServiceLook::usable);
        CHECK(story.says().find("Stalled") == std::string::npos);
        CHECK_FALSE(wants(story, 24h));
    }
}

TEST_CASE("a Service that stands in the way is looked at less and less often", "[stall]") {
    Story story{.observed = served()};
    look(story, 30s, ServiceLook::taken);
    CHECK(story.next == start + 45s);
    look(story, 45s, ServiceLook::taken);
    CHECK(story.next == start + 60s);
    CHECK_FALSE(wants(story, 59s));
    look(story, 150s, ServiceLook::taken);
    CHECK(wants(story, 210s));
    CHECK_FALSE(wants(story, 209s));
    look(story, 10h, ServiceLook::taken);
    CHECK(wants(story, 10h + 300s));
    CHECK_FALSE(wants(story, 10h + 299s));
    // With the same text, the status is not written again.
    CHECK(story.writes == 1);
}

TEST_CASE("once the Service of another owner is gone, the JobSet's own is looked for soon", "[stall]") {
    Story story{.observed = served()};
    look(story, 30s, ServiceLook::taken);
    look(story, 10h, ServiceLook::absent);
    CHECK(wants(story, 10h + 15s));
    look(story, 10h + 15s, ServiceLook::usable);
    CHECK(story.says().find("Stalled") == std::string::npos);
}

TEST_CASE("a Service that cannot be read stalls nothing, and ends no stall", "[stall]") {
    Story story{.observed = served()};
    CHECK(look(story, 30s, ServiceLook::unread).requeue_after == 15s);
    CHECK(look(story, 10h, ServiceLook::unread).requeue_after == 300s);
    CHECK(story.says().find("Stalled") == std::string::npos);
    look(story, 11h, ServiceLook::taken);
    CHECK(story.message("Stalled") == taken_text);
    look(story, 12h, ServiceLook::unread);
    CHECK(story.message("Stalled") == taken_text);
}

TEST_CASE("a Service that is missing before one stood in its way is JobSet's business", "[stall]") {
    Story story{.observed = served()};
    CHECK_FALSE(look(story, 30s, ServiceLook::absent).requeue_after);
    CHECK(story.says().find("Stalled") == std::string::npos);
}

TEST_CASE("after a restart of the reconciler what is stalled is looked at, and nothing that has run for long",
          "[stall]") {
    Story story{.observed = served()};
    CHECK(wants(story, 1h));
    CHECK_FALSE(wants(story, 1h + 30s));
    look(story, 30s, ServiceLook::taken);
    story.observed.retry_state = {};
    CHECK(wants(story, 10h));
    look(story, 10h, ServiceLook::unread);
    CHECK(story.message("Stalled") == taken_text);
    story.observed.retry_state = {};
    look(story, 11h, ServiceLook::absent);
    CHECK(story.message("Stalled") == gone_text);
    look(story, 12h, ServiceLook::usable);
    CHECK(story.says().find("Stalled") == std::string::npos);
}

TEST_CASE("a new JobSet is looked at again", "[stall]") {
    Story story{.observed = served()};
    look(story, 30s, ServiceLook::usable);
    story.observed.job_set->meta.creation = start + 5min;
    CHECK_FALSE(wants(story, 5min + 29s));
    CHECK(wants(story, 5min + 30s));
}

TEST_CASE("a taken Service is named besides what else stalls the TrainJob", "[stall]") {
    Observed observed = served();
    observed.is_live = true;
    observed.job_set->replicated_jobs.clear();
    observed.job->jobs_status.clear();
    Story story{.observed = observed};
    look(story, 0s, ServiceLook::taken);
    const std::string quota = "jobs.batch \"job-node-0\" is forbidden: exceeded quota";
    look(story, 30s, ServiceLook::taken, {.explanation = quota});
    CHECK(story.says().ends_with("Stalled=True/JobsNotCreated"));
    CHECK(story.message("Stalled") == quota + "; besides: " + taken_text);
    // The event may have expired.
    look(story, 90s, ServiceLook::taken, {.explanation = ""});
    CHECK(story.message("Stalled") == quota + "; besides: " + taken_text);
    story.observed.job_set->replicated_jobs = {{.name = "node", .ready = 1, .active = 1}};
    look(story, 200s, ServiceLook::taken);
    CHECK(story.says().ends_with("Stalled=True/ServiceTaken"));
    CHECK(story.message("Stalled") == taken_text);
}

TEST_CASE("a Service is usable if it selects the Pods, whoever owns it", "[stall]") {
    const Json spec = parsed(R"({"replicatedJobs": [
        {"name": "a", "template": {"spec": {"template": {"metadata": {"labels": {"team": "ml", "app": "x"}}}}}},
        {"name": "b", "template": {"spec": {"template": {"metadata": {"labels": {"team": "ml"}}}}}}]})");
    const Json labels = labels_of_pods("job", spec);
    const auto selects = [&](const char* selector) {
        Json service;
        service["spec"]["selector"] = parsed(selector);
        return selects_pods(service, labels);
    };
    CHECK(selects(R"({"team": "ml"})"));
    CHECK(selects(R"({"jobset.sigs.k8s.io/jobset-name": "job"})"));
    CHECK(selects(R"({"jobset.sigs.k8s.io/jobset-name": "job", "team": "ml"})"));
    CHECK_FALSE(selects(R"({"jobset.sigs.k8s.io/jobset-name": "other"})"));
    CHECK_FALSE(selects(R"({"app": "x"})"));
    CHECK_FALSE(selects(R"({"team": "other"})"));
    CHECK_FALSE(selects("{}"));
    CHECK_FALSE(selects_pods(parsed("{}"), labels));
}

TEST_CASE("labels of Pods that no Pod can have cost nothing", "[stall]") {
    Json spec = parsed(R"({"replicatedJobs": [{"name": "a"}]})");
    Json& labels = spec["replicatedJobs"].items()[0]["template"]["spec"]["template"]["metadata"]["labels"];
    labels[std::string(1'000'000, 'a')] = "x";
    labels["b"] = std::string(1'000'000, 'b');
    labels["jobset.sigs.k8s.io/jobset-name"] = "forged";
    for (int i = 0; i < 1000; ++i) labels["c" + std::to_string(i)] = "x";
    const Json common = labels_of_pods("job", spec);
    CHECK(api::to_json(common).size() < 1000);
    CHECK(common["jobset.sigs.k8s.io/jobset-name"] == Json("job"));
}

TEST_CASE("what an earlier JobSet of the name has left will be gone", "[stall]") {
    const Json labels = labels_of_pods("job", Json());
    const auto takes = [&](const char* metadata) {
        Json service;
        service["metadata"] = parsed(metadata);
        return will_take_name(service, "job", labels);
    };
    CHECK(takes("{}"));
    CHECK(takes(R"({"ownerReferences": [{"kind": "JobSet", "name": "other"}]})"));
    CHECK_FALSE(takes(R"({"ownerReferences": [{"kind": "JobSet", "name": "job"}]})"));
    CHECK_FALSE(takes(R"({"deletionTimestamp": "2026-01-15T10:00:00Z"})"));
}

TEST_CASE("a shared subdomain is the runtime's to mend", "[stall]") {
    Story story{.observed = served()};
    story.observed.job_set->service = "team";
    look(story, 30s, ServiceLook::taken);
    CHECK(story.message("Stalled") ==
          "Service default/team exists already, so host names of Pods do not resolve: delete it, or leave "
          "network.subdomain out of the runtime");
}

}  // namespace lifecycle
