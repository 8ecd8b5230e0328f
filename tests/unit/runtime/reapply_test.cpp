// Runtime patches after a client-side apply of an older manifest.
#include "fixtures.hpp"
#include "merge/json_patch.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const api::Time now = api::parse_time("2026-01-15T10:00:00Z").value();

// Returns entries of these managers, "a k" for example.
Json list_of(const std::string& managers) {
    Json list = Json::array();
    for (const char manager : managers)
        if (manager != ' ')
            list.push_back(Json::object({{"manager", std::string("x.io/") + manager}, {"time", "t"}}));
    return list;
}

std::string managers_of(const Json& job) {
    std::string managers;
    for (const Json& entry : job["spec"]["runtimePatches"].items())
        managers += entry["manager"].as_string().back();
    return managers;
}

// A job with these stored entries, written by a manifest that has those.
Json job_with(const std::string& managers, const std::optional<std::string>& manifest) {
    Json job = train_job();
    job["spec"]["runtimePatches"] = list_of(managers);
    if (!manifest) return job;
    Json applied = train_job();
    if (!manifest->empty()) applied["spec"]["runtimePatches"] = list_of(*manifest);
    job["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
        api::to_json(applied);
    return job;
}

constexpr const char* kubectl_apply = "kubectl-client-side-apply";

}  // namespace

TEST_CASE("applying a manifest again removes no entry that it never had", "[admission]") {
    struct Case {
        const char* name;
        std::string before;
        std::optional<std::string> manifest_before;
        std::string written;
        std::optional<std::string> manifest;
        const char* by;
        std::string want;
    };
    const Case cases[] = {
        {"the same manifest", "ak", "a", "a", "a", kubectl_apply, "ak"},
        {"a changed one", "ak", "a", "ab", "ab", kubectl_apply, "abk"},
        {"one that has dropped its own entry", "abk", "ab", "a", "a", kubectl_apply, "ak"},
        {"one that has dropped all of its own", "ak", "a", "", "", kubectl_apply, "k"},
        {"one that has taken over the entry, and dropped it", "ak", "ak", "a", "a", kubectl_apply, "a"},
        {"an entry before the manifest's", "ka", "a", "a", "a", kubectl_apply, "ka"},
        {"several", "kal", "a", "a", "a", kubectl_apply, "kal"},
        {"for the first time", "ak", std::nullopt, "a", "a", kubectl_apply, "ak"},
        {"another tool with a changed manifest", "ak", "a", "b", "b", "argocd-controller", "bk"},
        {"another tool with the same manifest", "ak", "a", "a", "a", "argocd-controller", "ak"},
        {"the manager removes its own", "ak", "a", "a", "a", "kueue", "a"},
        {"an editor removes it", "ak", "a", "a", "a", "kubectl-edit", "a"},
        {"a client without manifests", "ak", std::nullopt, "a", std::nullopt, "sdk", "a"},
        {"kubectl patches the list", "ak", "a", "b", "a", kubectl_apply, "b"},
        {"nothing is lost", "ak", "a", "ak", "a", kubectl_apply, "ak"},
        {"without a list in the end", "k", "", "k", "", kubectl_apply, "k"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json before = job_with(c.before, c.manifest_before);
            Json written = job_with(c.written, c.manifest);
            if (c.written.empty()) written["spec"].erase("runtimePatches");
            const runtime::Writer writer = {.field_manager = c.by};
            const std::size_t entries = managers_of(written).size();
            const auto mutation = runtime::default_train_job(written, before, now, writer);
            REQUIRE(merge::apply_operations(mutation.operations, written));
            CHECK(managers_of(written) == c.want);
            CHECK(mutation.restored ==
                  std::vector<api::RestoredField>(managers_of(written).size() - entries,
                                                  {.field = "runtimePatches", .cause = "reapply"}));
            CHECK(runtime::default_train_job(written, before, now, writer).operations.empty());
        }
    }
}

TEST_CASE("Kueue's entry stays in a job that has a queue", "[admission]") {
    Json before = train_job();
    before["spec"]["runtimePatches"] = list_of("a");
    before["spec"]["runtimePatches"].push_back(Json::object({{"manager", "kueue.x-k8s.io/manager"}}));
    before["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
    Json written = before;
    written["spec"]["runtimePatches"] = list_of("a");
    for (const char* by : {kubectl_apply, "ci", "kubectl-replace", "kubectl-edit", "sdk"}) {
        CAPTURE(by);
        Json stored = written;
        REQUIRE(merge::apply_operations(
            runtime::default_train_job(written, before, now, {.field_manager = by}).operations, stored));
        CHECK(stored == before);
    }
    // Without a queue it is an entry like any other.
    written["metadata"]["labels"].erase("kueue.x-k8s.io/queue-name");
    CHECK(runtime::default_train_job(written, before, now, {.field_manager = "ci"}).operations.empty());
}

TEST_CASE("an annotation that is no manifest restores nothing", "[admission]") {
    const Json before = job_with("ak", "a");
    for (const char* note : {"", "{", "[]", "{\"spec\": 3}"}) {
        Json written = job_with("a", "a");
        written["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = note;
        CHECK(runtime::default_train_job(written, before, now, {.field_manager = kubectl_apply})
                  .operations.empty());
    }
}
