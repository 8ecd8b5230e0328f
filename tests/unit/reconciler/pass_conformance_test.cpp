// What whole passes make of the original's cases: the status, what is deleted, and that they write what
// building gives. What building is to give, tests/unit/runtime/pipeline_conformance_test.cpp judges.
#include <algorithm>
#include <map>
#include <set>

#include "api/names.hpp"
#include "kube/kinds.hpp"
#include "life.hpp"
#include "pipeline_case.hpp"
#include "pipeline_overrides.hpp"

namespace reconciler {
namespace {

// Cases of which more is to be said than building says: it is another outcome than the original's, or nothing
// is built. What a row does not name, does not happen.
struct Exception {
    const char* reason;
    std::set<std::string> cases;
    const char* created = "";  // the reason of Created, if it is False
    const char* failed = "";   // the reason of Failed, where the original has no such condition
    bool anew = false;         // the snapshot is removed, and everything built from the live runtime
    bool built = false;        // what building says
    const char* changed = "";  // by a merge patch of the JobSet's spec
    bool recreated = false;    // the JobSet is deleted, which does not take the change
};

const Exception rows[] = {
    {"the runtime that the job names does not exist",
     {"missing-namespaced-runtime-is-an-error", "namespaced-runtime-of-another-namespace-is-not-found"},
     "JobsBuildFailed"},
    {"1.1: a kind of runtime that there is not ends the job",
     {"unsupported-runtime-kind-panics"},
     "",
     "TrainingRuntimeNotSupported"},
    {"lifecycle 3.4-3.6: a job that has ended, or ends, is not built any more",
     {"deadline-long-passed-fails-and-deletes-the-jobset", "failed-trainjob-builds-nothing",
      "jobset-completed-condition-becomes-complete"}},
    {"the job is managed by somebody else", {"managed-by-multikueue-suspended-job-builds-nothing"}},
    {"#18: an object of our name that somebody else has is an error",
     {"jobset-of-somebody-else-counts-as-running", "snapshot-of-another-owner-is-an-error",
      "snapshot-without-owner-is-an-error"},
     "JobsCreationFailed"},
    {.reason = "lifecycle 3: of a job that is taken over while it runs, the snapshot alone is stored",
     .cases = {"running-jobset-is-not-applied-again"},
     .built = true},
    {.reason = "lifecycle 3: a bad snapshot is replaced while the live runtime counts",
     .cases = {"snapshot-of-another-kind-is-an-error", "snapshot-with-broken-yaml-is-an-error"},
     .anew = true,
     .built = true},
    {.reason = "lifecycle 7: a running JobSet is suspended before anything else",
     .cases = {"running-jobset-is-applied-when-trainjob-gets-suspended"},
     .built = true,
     .changed = R"({"suspend":true})",
     .recreated = true},
    {.reason = "lifecycle 7: a suspended JobSet that does not take what is built is made anew",
     .cases = {"suspended-jobset-is-applied-on-resume"},
     .built = true,
     .recreated = true},
};

const Exception* find_row(const std::string& name) {
    for (const Exception& row : rows)
        if (row.cases.contains(name)) return &row;
    return nullptr;
}

const kube::Resource& resource_of(const Json& object) {
    const std::string_view kind = object["kind"].as_string();
    const kube::Resource* known = kube::find_resource(object["apiVersion"].as_string(), kind);
    if (!known) FAIL("no resource for " << object);
    return *known;
}

// As the rules of comparison want it: without times, and without Created, which is ours.
Json comparable_status(const Json& status) {
    Json clean = Json::object();
    for (const Json& each : status["conditions"].items()) {
        if (each["type"].as_string() == "Created") continue;
        Json condition = each;
        condition.erase("lastTransitionTime");
        condition.erase("observedGeneration");
        clean["conditions"].push_back(std::move(condition));
    }
    if (!status["jobsStatus"].empty()) clean["jobsStatus"] = status["jobsStatus"];
    return comparable(clean);
}

void pass(Life& life, const api::ObjectKey& of) {
    life.server.show(life.caches);
    const auto run = [&]() -> kube::Task<> { co_await life.passes.run(of, {}); };
    boost::asio::co_spawn(life.context, run(), boost::asio::detached);
    life.context.restart();
    life.context.run();
}

// What the passes over a case did, until there was nothing left to do.
struct Outcome {
    Json status = {};
    std::string created = {};               // the reason of Created, if it is False
    std::map<std::string, Json> sent = {};  // what was created or applied, by key_of(); the last of each
    std::string changed = {};               // what merge patches say, but for those of the status
    std::set<std::string> deleted = {};     // paths
};

void note(const kube::Request& request, ModelServer& server, Outcome& outcome) {
    if (request.method == "DELETE")
        outcome.deleted.insert(request.target.substr(0, request.target.find('?')));
    if (request.method == "DELETE" || request.target.find("/status") != std::string::npos) return;
    Json body = api::parse_json(request.body).value();
    if (std::as_const(body)["kind"].is_null())
        outcome.changed += to_json(std::as_const(body)["spec"]);
    else if (request.method != "POST" || !server.find(resource_of(body), api::parse_meta(body).key()))
        outcome.sent[key_of(body)] = std::move(body);
}

Outcome run_passes(const PipelineCase& c) {
    Life life(runtime::make_pipeline(c.features));
    life.server.restore(train_jobs, c.train_job);
    if (c.runtime) life.server.restore(resource_of(*c.runtime), *c.runtime);
    for (const Json& object : c.existing) life.server.restore(resource_of(object), object);

    Outcome outcome;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        note(request, life.server, outcome);
        return std::nullopt;
    };
    constexpr int enough = 4;
    for (int i = 0; i < enough; ++i) {
        pass(life, c.job.meta.key());
        life.server.collect_garbage();
    }
    const Json& job = *life.server.find(train_jobs, c.job.meta.key());
    outcome.status = job["status"];
    for (const Json& condition : outcome.status["conditions"].items())
        if (condition["type"].as_string() == "Created" && condition["status"].as_string() == "False")
            outcome.created = condition["reason"].as_string();
    return outcome;
}

std::set<std::string> names_of(const std::map<std::string, Json>& objects) {
    std::set<std::string> names;
    for (const auto& [name, object] : objects) names.insert(name);
    return names;
}

bool is_snapshot(const Json& object) {
    return key_of(object).starts_with("ConfigMap/") && key_of(object).ends_with(api::snapshot_suffix);
}

// An update is bound to what was seen.
Json without_preconditions(Json object) {
    for (const char* member : {"uid", "resourceVersion"}) object["metadata"].erase(member);
    return is_snapshot(object) ? comparable_snapshot(object) : comparable(object);
}

// The outcome that is wanted of a case.
Outcome wanted_outcome(const PipelineCase& c, const Exception* row) {
    Outcome wanted;
    wanted.status = comparable_status(c.want["status"]);
    PipelineCase source = c;
    if (row && row->anew) {
        std::erase_if(source.existing, is_snapshot);
        wanted.deleted.insert(
            kube::path(config_maps, {c.job.meta.ns, c.job.meta.name + std::string(api::snapshot_suffix)}));
    }
    for (const Json& object : c.existing)  // the original makes what it deletes first, in the same pass
        for (const Json& name : c.want["deleted"].items())
            if (name == key_of(object)) wanted.deleted.insert(kube::path(job_sets, c.job.meta.key()));
    if (row && row->recreated) wanted.deleted.insert(kube::path(job_sets, c.job.meta.key()));
    if (row) wanted.created = row->created;
    if (row) wanted.changed = row->changed;
    if (row && !row->built) return wanted;
    if (auto objects = built_objects(source))
        wanted.sent = std::move(*objects);
    else
        wanted.created = "JobsBuildFailed";
    return wanted;
}

// Takes Failed away, and gives its reason.
std::string take_failed(Json& status) {
    Json* conditions = status.find("conditions");
    if (!conditions || conditions->items().empty()) return {};
    const Json last = conditions->items().back();
    if (last["type"].as_string() != "Failed") return {};
    conditions->items().pop_back();
    if (conditions->items().empty()) status.erase("conditions");
    return std::string(last["reason"].as_string());
}

}  // namespace

TEST_CASE("passes over the original's cases end as specified: status, deletions, and what is written",
          "[conformance]") {
    for (const PipelineCase& c : all_pipeline_cases()) {
        DYNAMIC_SECTION(c.name) {
            const Exception* row = find_row(c.name);
            INFO((row ? row->reason : ""));
            const Outcome wanted = wanted_outcome(c, row);
            const Outcome outcome = run_passes(c);
            Json status = comparable_status(outcome.status);
            if (row && *row->failed) CHECK(take_failed(status) == row->failed);
            CHECK(status == wanted.status);
            CHECK(outcome.created == wanted.created);
            CHECK(outcome.changed == wanted.changed);
            CHECK(outcome.deleted == wanted.deleted);
            CHECK(names_of(outcome.sent) == names_of(wanted.sent));
            for (const auto& [name, object] : wanted.sent)
                if (outcome.sent.contains(name) && !name.starts_with("Secret/"))
                    CHECK(without_preconditions(outcome.sent.at(name)) == without_preconditions(object));
        }
    }
}

TEST_CASE("what building alone does not decide, a row says", "[conformance]") {
    std::set<std::string> names;
    for (const PipelineCase& c : all_pipeline_cases()) {
        INFO(c.name);
        names.insert(c.name);
        if (!decided_elsewhere(c.name).empty()) CHECK(find_row(c.name));
    }
    for (const Exception& row : rows)
        for (const std::string& name : row.cases) CHECK(names.contains(name));
}

}  // namespace reconciler
