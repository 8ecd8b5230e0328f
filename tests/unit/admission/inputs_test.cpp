#include "admission/inputs.hpp"

#include <catch2/catch.hpp>

#include "net/tls/digest.hpp"
#include "relay.hpp"
#include "reviews.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/snapshot.hpp"
#include "support/printers.hpp"

using api::Json;
using test::Fixture;
using test::post;
using test::Reply;
using test::review;

namespace {

// Returns the targets of the requests, without the API's prefix.
std::vector<std::string> asked(const Fixture& fixture) {
    std::vector<std::string> targets;
    for (const kube::Request& request : fixture.server.requests) {
        CHECK(request.method == "GET");
        const auto start = request.target.find("/v1");
        targets.push_back(request.target.substr(request.target.find('/', start + 1)));
    }
    return targets;
}

const std::string job_set = "/namespaces/ns/jobsets/job";
const std::string snapshot = "/namespaces/ns/configmaps/job-runtime-snapshot";
const std::string live = "/clustertrainingruntimes/plain";

Json job_with_status(const char* status) {
    Json job = test::train_job();
    if (*status) job["status"] = *api::parse_json(status);
    return job;
}

Json own_job_set() {
    return *api::parse_json(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "job", "namespace": "ns", "ownerReferences": [
            {"controller": true, "kind": "TrainJob", "apiVersion": "trainer.kubeflow.org/v1alpha1",
             "name": "job", "uid": "job-uid"}]}})");
}

Json snapshot_of(const Json& job, const Json& runtime) {
    return runtime::make_snapshot(api::parse_train_job(job), runtime);
}

constexpr const char* created = R"({"conditions": [{"type": "Created", "status": "True", "reason": "R",
    "message": "", "lastTransitionTime": "2026-01-15T00:00:00Z"}]})";

}  // namespace

TEST_CASE("a new TrainJob is validated against the live runtime", "[inputs]") {
    Fixture fixture;
    fixture.ask(post(test::train_job_path, review("CREATE", test::train_job())));
    CHECK(asked(fixture) == std::vector{live});
}

TEST_CASE("a namespaced runtime is looked up in the TrainJob's namespace", "[inputs]") {
    Fixture fixture;
    Json job = test::train_job();
    job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime";
    fixture.ask(post(test::train_job_path, review("CREATE", job)));
    CHECK(asked(fixture) == std::vector<std::string>{"/namespaces/ns/trainingruntimes/plain"});
    fixture.runtimes.set({"ns", "plain"}, admission::make_runtime_text(test::namespaced_runtime()));
    CHECK(fixture.ask(post(test::train_job_path, review("CREATE", job))).allowed());
    CHECK(fixture.server.requests.size() == 1);

    // A runtime of another namespace or scope does not count.
    job["metadata"]["namespace"] = "elsewhere";
    CHECK_FALSE(fixture.ask(post(test::train_job_path, review("CREATE", job))).allowed());
}

TEST_CASE("a denial for a missing runtime suggests the most similar one that the TrainJob may use",
          "[inputs]") {
    Fixture fixture;
    for (const char* name : {"torch-distributed", "mpi-distributed"})
        fixture.runtimes.set({"", name}, admission::make_runtime_text(test::cluster_runtime(name)));
    fixture.runtimes.set({"ns", "bert"}, admission::make_runtime_text(test::namespaced_runtime("bert")));
    fixture.runtimes.set({"elsewhere", "bert-2"},
                         admission::make_runtime_text(test::namespaced_runtime("bert-2")));
    const auto denial = [&](const char* kind, const char* name) {
        Json job = test::train_job();
        job["spec"]["runtimeRef"]["kind"] = kind;
        job["spec"]["runtimeRef"]["name"] = name;
        const Reply reply = fixture.ask(post(test::train_job_path, review("CREATE", job)));
        CHECK(reply.denial_code() == 422);
        return reply.message().substr(reply.message().find("must be created"));
    };
    CHECK(denial("ClusterTrainingRuntime", "torch-distribted") ==
          "must be created before the TrainJob; did you mean \"torch-distributed\"?");
    CHECK(denial("ClusterTrainingRuntime", "bert") ==
          "must be created before the TrainJob; did you mean the TrainingRuntime of that name? Then set "
          "spec.runtimeRef.kind");
    CHECK(
        denial("TrainingRuntime", "mpi-distributed") ==
        "must be created before the TrainJob; did you mean the ClusterTrainingRuntime of that name? Then set "
        "spec.runtimeRef.kind");
    CHECK(denial("TrainingRuntime", "brt") == "must be created before the TrainJob; did you mean \"bert\"?");
    // Names of other namespaces are not disclosed.
    CHECK(denial("TrainingRuntime", "bert-2-large") == "must be created before the TrainJob");
    CHECK(denial("ClusterTrainingRuntime", "bert-2") == "must be created before the TrainJob");
    CHECK(denial("ClusterTrainingRuntime", "tensorflow") == "must be created before the TrainJob");
}

TEST_CASE("a reference without a valid kind or name causes no lookup", "[inputs]") {
    Fixture fixture;
    Json job = test::train_job();
    job["spec"]["runtimeRef"]["kind"] = "Cronjob";
    const Reply reply = fixture.ask(post(test::train_job_path, review("CREATE", job)));
    CHECK(reply.denial_code() == 422);
    CHECK(fixture.server.requests.empty());
}

TEST_CASE("names that no object can have are not looked up", "[inputs]") {
    const std::string names[] = {"a%b", "..",   ".",   "a/b", "Plain", "-a",
                                 "a-",  "a..b", "a_b", "a b", "ä",     std::string(254, 'a')};
    for (const std::string& name : names) {
        CAPTURE(name);
        Fixture fixture;
        fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
            return refusal(400, api::Errc::invalid);
        };
        Json job = test::train_job();
        job["spec"]["runtimeRef"]["name"] = name;
        const Reply reply = fixture.ask(post(test::train_job_path, review("CREATE", job)));
        CHECK(reply.denial_code() == 422);
        CHECK(reply.causes() == std::vector<std::string>{"spec.runtimeRef: Invalid value"});
        CHECK(asked(fixture).empty());
        CHECK(fixture.log_text.empty());
    }
    for (const std::string name : {"a", "1", "a-b.c-1", "0.0"}) {
        CAPTURE(name);
        Fixture fixture;
        Json job = test::train_job();
        job["spec"]["runtimeRef"]["name"] = name;
        fixture.ask(post(test::train_job_path, review("CREATE", job)));
        CHECK(asked(fixture).size() == 1);
    }
}

TEST_CASE("an object that the API server refuses to look up counts as missing", "[inputs]") {
    for (const int status : {400, 422}) {
        CAPTURE(status);
        Fixture fixture;
        fixture.server.answer = [&](const kube::Request&) -> api::Result<kube::Response> {
            return refusal(status, api::Errc::invalid);
        };
        CHECK(fixture.ask(post(test::train_job_path, review("CREATE", test::train_job()))).denial_code() ==
              422);
        CHECK(fixture.log_text.empty());
    }
}

TEST_CASE("updates without relevant changes cause no lookup", "[inputs]") {
    struct Case {
        const char* name;
        void (*change)(Json& job);
    };
    const Case cases[] = {
        {"nothing", [](auto&) {}},
        {"a label", [](auto& job) { job["metadata"]["labels"]["a"] = "b"; }},
        {"a finalizer", [](auto& job) { job["metadata"]["finalizers"] = Json::array(); }},
        {"suspend", [](auto& job) { job["spec"]["suspend"] = true; }},
        {"the status", [](auto& job) { job["status"]["jobsStatus"] = Json::array(); }},
        {"an empty list", [](auto& job) { job["spec"]["trainer"]["args"] = Json::array(); }},
        {"anything, while it is being deleted",
         [](auto& job) {
             job["metadata"]["deletionTimestamp"] = "2026-01-15T00:00:00Z";
             job["spec"]["trainer"]["image"] = "other";
         }},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            Json job = test::train_job();
            c.change(job);
            bool at_once = false;
            const Reply reply =
                fixture.ask(post(test::train_job_path, review("UPDATE", job, test::train_job())), at_once);
            CHECK(at_once);
            CHECK(reply.allowed());
            CHECK(fixture.server.requests.empty());
        }
    }
}

TEST_CASE("an update is validated against the objects from which the reconciler builds", "[inputs]") {
    struct Case {
        const char* name;
        const char* status;  // of the TrainJob
        bool has_live, has_snapshot, has_job_set;
        std::vector<std::string> want;  // requests
        bool found;
    };
    const Case cases[] = {
        {"nothing is there yet", "", true, false, false, {job_set, live}, true},
        {"a snapshot does not count before the JobSet", "", true, true, false, {job_set, live}, true},
        {"the runtime is gone, its snapshot is not", "", false, true, false, {job_set, live, snapshot}, true},
        {"all is gone", "", false, false, false, {job_set, live, snapshot}, false},
        {"it has a JobSet", "", true, true, true, {job_set, snapshot}, true},
        {"an old JobSet without a snapshot", "", true, false, true, {job_set, snapshot, live}, true},
        {"it has been created", created, true, true, false, {job_set, snapshot}, true},
        {"created, and the runtime is gone", created, false, true, false, {job_set, snapshot}, true},
        {"created, and the snapshot is gone", created, true, false, false, {job_set, snapshot, live}, true},
        {"it has counts",
         R"({"jobsStatus": [{"name": "node"}]})",
         true,
         true,
         false,
         {job_set, snapshot},
         true},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            Json job = job_with_status(c.status);
            const Json old_job = job;
            job["spec"]["trainer"]["image"] = "registry.example.com/train:2";
            const Json runtime = test::cluster_runtime();
            if (c.has_live) fixture.store(kube::resources::cluster_training_runtimes, runtime);
            if (c.has_snapshot) fixture.store(kube::resources::config_maps, snapshot_of(job, runtime));
            if (c.has_job_set) fixture.store(kube::resources::job_sets, own_job_set());
            const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
            CHECK(asked(fixture) == c.want);
            // The lookup does not decide whether the reference may change.
            CHECK((reply.message().find("not found") == std::string::npos) == c.found);
        }
    }
}

TEST_CASE("a snapshot that does not belong to the TrainJob is ignored", "[inputs]") {
    struct Case {
        const char* name;
        void (*change)(Json& config_map);
    };
    const Case cases[] = {
        {"of an earlier TrainJob",
         [](auto& map) { map["metadata"]["ownerReferences"].items()[0]["uid"] = "earlier"; }},
        {"without an owner", [](auto& map) { map["metadata"].erase("ownerReferences"); }},
        {"broken", [](auto& map) { map["data"]["runtime"] = "{"; }},
        {"empty", [](auto& map) { map.erase("data"); }},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            Json job = job_with_status(created);
            const Json old_job = job;
            job["spec"]["trainer"]["image"] = "registry.example.com/train:2";
            Json config_map = snapshot_of(job, test::cluster_runtime());
            c.change(config_map);
            fixture.store(kube::resources::config_maps, config_map);
            CHECK_FALSE(fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job))).allowed());
            CHECK(asked(fixture) == std::vector{job_set, snapshot, live});
        }
    }
}

TEST_CASE("the snapshot takes precedence over the live runtime", "[inputs]") {
    Fixture fixture;
    Json job = job_with_status(created);
    const Json old_job = job;
    job["spec"]["trainer"]["env"] = Json::array({Json::object({{"name", "PET_NNODES"}, {"value", "1"}})});
    Json torch = test::cluster_runtime();
    torch["spec"]["mlPolicy"]["torch"] = Json::object();
    fixture.store(kube::resources::config_maps, snapshot_of(job, torch));
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    fixture.runtimes.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
    const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
    CHECK_THAT(reply.message(), Catch::Contains("PET_NNODES"));
}

TEST_CASE("a snapshot of another runtime than the TrainJob began with does not decide what may change",
          "[inputs]") {
    Json torch = test::cluster_runtime();
    torch["spec"]["mlPolicy"]["torch"] = Json::object();
    for (const bool is_forged : {false, true}) {
        DYNAMIC_SECTION((is_forged ? "forged" : "its own")) {
            const Json began_with = is_forged ? test::cluster_runtime() : torch;
            Json job = job_with_status(created);
            job["status"]["runtimeDigest"] = net::digest_text(runtime::digested_text(began_with));
            const Json old_job = job;
            job["spec"]["trainer"]["env"] =
                Json::array({Json::object({{"name", "PET_NNODES"}, {"value", "1"}})});
            Fixture fixture;
            fixture.store(kube::resources::config_maps, snapshot_of(job, torch));
            fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
            CHECK((reply.message().find("the Torch runtime") == std::string::npos) == is_forged);
            CHECK(asked(fixture) ==
                  (is_forged ? std::vector{job_set, snapshot, live} : std::vector{job_set, snapshot}));
        }
    }
}

TEST_CASE("a runtime that is too large for reviews is refused, from the cache and from the API server",
          "[inputs]") {
    Json large = test::cluster_runtime();
    large["spec"]["x"] = Json(Json::Array(admission::max_runtime_values, Json("")));
    Fixture fixture;
    SECTION("the watch") { fixture.runtimes.set({"", "plain"}, admission::make_runtime_text(large)); }
    SECTION("the API server") { fixture.store(kube::resources::cluster_training_runtimes, large); }
    const Reply reply = fixture.ask(post(test::train_job_path, review("CREATE", test::train_job())));
    CHECK(reply.denial_code() == 422);
    CHECK(reply.causes() == std::vector<std::string>{"spec.runtimeRef: Invalid value"});
    CHECK_THAT(reply.message(), Catch::Contains("values, and a runtime may hold 50000: split it"));
    CHECK(fixture.log_text.empty());
}

TEST_CASE("if a snapshot is too large to build from, the live runtime is used", "[inputs]") {
    Json torch = test::cluster_runtime();
    torch["spec"]["mlPolicy"]["torch"] = Json::object();
    Json large = test::cluster_runtime();
    const bool is_broken = GENERATE(true, false);
    const std::size_t values = is_broken ? runtime::max_runtime_values : admission::max_runtime_values;
    large["spec"]["template"]["x"] = Json(Json::Array(values, Json("")));
    const Json old_job = job_with_status(created);
    Json job = old_job;
    job["spec"]["trainer"]["env"] = Json::array({Json::object({{"name", "PET_NNODES"}, {"value", "1"}})});
    Fixture fixture;
    fixture.store(kube::resources::config_maps, snapshot_of(job, large));
    fixture.store(kube::resources::cluster_training_runtimes, torch);
    const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
    CHECK((reply.causes() == std::vector<std::string>{"spec.runtimeRef: Invalid value"}) == !is_broken);
    CHECK((reply.message().find("PET_NNODES") != std::string::npos) == is_broken);
}

TEST_CASE("a runtime that becomes too large is refused, one that already was is not", "[inputs]") {
    Json large = test::cluster_runtime();
    large["spec"]["x"] = Json(Json::Array(admission::max_runtime_values, Json("")));
    Fixture fixture;
    for (const Reply& reply :
         {fixture.ask(post(test::cluster_runtime_path, review("CREATE", large))),
          fixture.ask(post(test::cluster_runtime_path, review("UPDATE", large, test::cluster_runtime())))}) {
        CHECK(reply.causes() == std::vector<std::string>{"spec: Forbidden"});
        CHECK_THAT(reply.message(), Catch::Contains("values, and a runtime may hold 50000: split it"));
    }
    CHECK(fixture.ask(post(test::cluster_runtime_path, review("UPDATE", large, large))).allowed());
}

TEST_CASE("the JobSet is read when patches change", "[inputs]") {
    Fixture fixture;
    Json job = job_with_status(created);
    job["spec"]["suspend"] = true;
    const Json old_job = job;
    job["spec"]["runtimePatches"] = Json::array({Json::object({{"manager", "acme.io/team"}})});
    fixture.store(kube::resources::config_maps, snapshot_of(job, test::cluster_runtime()));
    Json active = own_job_set();
    active["status"]["replicatedJobsStatus"] = Json::array({Json::object({{"name", "node"}, {"active", 1}})});
    fixture.store(kube::resources::job_sets, active);
    const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
    CHECK(asked(fixture) == std::vector{job_set, snapshot});
    CHECK(reply.causes() == std::vector<std::string>{"spec.runtimePatches: Forbidden"});
}

constexpr const char* not_created = R"({"conditions": [{"type": "Created", "status": "False", "reason": "R",
    "message": "", "lastTransitionTime": "2026-01-15T00:00:00Z"}]})";

TEST_CASE("a TrainJob can be corrected until the API server has its JobSet", "[inputs]") {
    Fixture fixture({}, {}, {.gates = runtime::Gates::all()});
    const Json old_job = job_with_status(not_created);
    Json job = old_job;
    job["spec"]["trainer"]["image"] = "registry.example.com/train:2";
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    SECTION("there is none") {
        CHECK(fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job))).allowed());
        CHECK(asked(fixture) == std::vector{job_set, live});
    }
    SECTION("there is one of the TrainJob") {
        fixture.store(kube::resources::job_sets, own_job_set());
        const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
        CHECK(reply.causes() == std::vector<std::string>{"spec.trainer.image: Invalid value"});
    }
    SECTION("there is one of an earlier TrainJob") {
        Json foreign = own_job_set();
        foreign["metadata"]["ownerReferences"].items()[0]["uid"] = "earlier";
        fixture.store(kube::resources::job_sets, foreign);
        CHECK(fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job))).allowed());
    }
}

TEST_CASE("an emptied value is restored unless the TrainJob may be corrected", "[inputs]") {
    struct Case {
        const char* name;
        const char* status;
        runtime::Gates gates;
        const char* managed_by;
        const char* lossy_clients;
        bool put_back;
    };
    const auto all = runtime::Gates::all();
    const Case cases[] = {
        {"there is a JobSet", created, all, "", "", true},
        {"there is none", not_created, all, "", "", false},
        {"the gate is off", not_created, all.without(runtime::Gate::edits), "", "", true},
        {"another controller manages it", not_created, all, "kueue.x-k8s.io/multikueue", "", true},
        {"by a client that lacks fields", not_created, all, "", "user", true},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture({}, {}, {.lossy_clients = {c.lossy_clients}, .gates = c.gates});
            Json old_job = job_with_status(c.status);
            old_job["spec"]["managedBy"] = c.managed_by;
            old_job["spec"]["trainer"]["args"] = Json::array();
            Json job = old_job;
            job["spec"]["trainer"].erase("args");
            Json body = review("UPDATE", job, old_job);
            body["request"]["userInfo"]["username"] = "user";
            const Reply reply = fixture.ask(post(test::mutate_path, body));
            CHECK(reply.response["patch"].is_string() == c.put_back);
        }
    }
}

TEST_CASE("another number of nodes is refused if the new JobSet would lose something", "[inputs]") {
    Fixture fixture({}, {}, {.gates = runtime::Gates::all()});
    Json old_job = job_with_status(created);
    old_job["spec"]["suspend"] = true;
    Json job = old_job;
    job["spec"]["trainer"]["numNodes"] = 3;
    fixture.store(kube::resources::config_maps, snapshot_of(job, test::cluster_runtime()));
    Json found = own_job_set();
    found["spec"]["suspend"] = true;
    found["metadata"]["generation"] = 3;
    std::string why;
    SECTION("nothing") {}
    SECTION("claims that it has written to") {
        found["spec"]["volumeClaimPolicies"] = Json::array({Json::object({{"templates", Json::array()}})});
        why = "it needs a new JobSet, and that would delete its volume claims";
    }
    SECTION("nothing that goes, since it was built for as many") {
        found["spec"]["volumeClaimPolicies"] = Json::array({Json::object({{"templates", Json::array()}})});
        found["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] = "a.b.c.3 {}";
    }
    SECTION("a finished replicated job") {
        found["status"]["replicatedJobsStatus"] =
            Json::array({Json::object({{"name", "init"}, {"succeeded", 1}})});
        why = "it needs a new JobSet, and that would run again what has finished";
    }
    fixture.store(kube::resources::job_sets, found);
    const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
    CHECK(reply.allowed() == why.empty());
    CHECK_THAT(reply.message(), Catch::Contains(why));
    if (!why.empty()) CHECK(reply.causes() == std::vector<std::string>{"spec.trainer.numNodes: Forbidden"});
}

TEST_CASE("a patch that only a new JobSet can take is denied if that would lose something", "[inputs]") {
    Fixture fixture({}, {}, {.gates = runtime::Gates::all()});
    const auto patched = [](const std::string& pod) {
        Json job = job_with_status(created);
        job["spec"]["suspend"] = true;
        job["spec"]["runtimePatches"] =
            api::parse_json(R"([{"manager": "example.com/team", "trainingRuntimeSpec": {"template": {"spec": {
            "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": )" +
                            pod + R"(}}}}]}}}}])")
                .value();
        return job;
    };
    const std::string anywhere = R"({"affinity": {"nodeAffinity": {"a": "b"}}})";
    const Json old_job = patched(R"({"nodeSelector": {"a": "b"}})");
    fixture.store(kube::resources::config_maps, snapshot_of(old_job, test::cluster_runtime()));
    Json found = own_job_set();
    found["spec"]["suspend"] = true;
    found["status"]["replicatedJobsStatus"] =
        Json::array({Json::object({{"name", "init"}, {"succeeded", 1}})});
    const auto built_from = [&](const Json& job) {
        found["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] =
            "a.b.c.-.d." + runtime::inputs_note(api::parse_train_job(job), false);
    };
    Json job = patched(anywhere);
    built_from(old_job);
    bool denied = false;
    SECTION("the affinity") { denied = true; }
    SECTION("a node selector") { job = patched(R"({"nodeSelector": {"a": "c"}})"); }
    SECTION("nothing is lost") { found["status"].erase("replicatedJobsStatus"); }
    SECTION("it becomes again what the JobSet was built from") { built_from(job); }
    fixture.store(kube::resources::job_sets, found);
    const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
    INFO(reply.message());
    CHECK(reply.allowed() != denied);
    if (!denied) return;
    CHECK(reply.causes() == std::vector<std::string>{"spec.runtimePatches[0]: Forbidden"});
    CHECK_THAT(reply.message(), Catch::Contains("it needs a new JobSet, and that would run again what has "
                                                "finished; create another TrainJob"));
}

TEST_CASE("each failed lookup is logged with its name", "[inputs]") {
    for (const std::string& failing : {job_set, live, snapshot}) {
        DYNAMIC_SECTION(failing) {
            Fixture fixture;
            const auto works = fixture.server.answer;
            fixture.server.answer = [&](const kube::Request& request) -> api::Result<kube::Response> {
                if (request.target.ends_with(failing)) return refusal(500, api::Errc::internal, "broken");
                return works(request);
            };
            const Json old_job = test::train_job();
            Json job = old_job;
            job["spec"]["trainer"]["image"] = "registry.example.com/train:2";
            const Reply reply = fixture.ask(post(test::train_job_path, review("UPDATE", job, old_job)));
            CHECK(reply.denial_code() == 503);
            CHECK(asked(fixture).back() == failing);
            CHECK_THAT(fixture.log_text, Catch::Contains(failing.substr(failing.rfind('/') + 1)));
        }
    }
}

TEST_CASE("the priority classes of a Volcano runtime are read live", "[inputs]") {
    Fixture fixture;
    Json runtime = *api::parse_json(R"({"apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime", "metadata": {"name": "plain"}, "spec": {"podGroupPolicy": {"volcano": {}},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
            "priorityClassName": "high", "containers": [{"name": "node", "image": "i"}]}}}}}]}}}})");
    fixture.store(kube::resources::cluster_training_runtimes, runtime);
    const Reply refused = fixture.ask(post(test::train_job_path, review("CREATE", test::train_job())));
    CHECK(asked(fixture) == std::vector<std::string>{live, "/priorityclasses/high"});
    CHECK_FALSE(refused.allowed());
}

TEST_CASE("objects that an external plugin needs are read, of any kind", "[inputs]") {
    Fixture fixture;
    fixture.pipeline = runtime::pipeline_with_relay();
    Json runtime = test::cluster_runtime();
    runtime["spec"]["mlPolicy"] = *api::parse_json(R"({"relay": {"class": "fast"}})");
    fixture.store(kube::resources::cluster_training_runtimes, runtime);
    const Reply refused = fixture.ask(post(test::train_job_path, review("CREATE", test::train_job())));
    CHECK(asked(fixture) == std::vector<std::string>{live, "/relayclasses/fast"});
    CHECK_THAT(refused.message(), Catch::Contains("RelayClass \"fast\" does not exist"));
    CHECK_THAT(fixture.metrics_text(), Catch::Contains("rule=\"relay_class\""));

    const kube::Resource relay_classes = {"example.com", "v1", "relayclasses", false, "RelayClass"};
    fixture.store(relay_classes, *api::parse_json(R"({"apiVersion": "example.com/v1", "kind": "RelayClass",
        "metadata": {"name": "fast"}})"));
    CHECK(fixture.ask(post(test::train_job_path, review("CREATE", test::train_job()))).allowed());
}

TEST_CASE("an external plugin warns of a runtime, under its rule", "[admission]") {
    Fixture fixture;
    fixture.pipeline = runtime::pipeline_with_relay();
    Json runtime = test::cluster_runtime();
    runtime["spec"]["mlPolicy"] = *api::parse_json(R"({"relay": {}})");
    const Reply warned = fixture.ask(post(test::cluster_runtime_path, review("CREATE", runtime)));
    CHECK(warned.allowed());
    CHECK(warned.response["warnings"][std::size_t{0}].as_string() ==
          "spec.mlPolicy.relay.class: without it the Relay is of the default class");
    CHECK_THAT(fixture.metrics_text(), Catch::Contains("rule=\"relay_without_class\""));
}
