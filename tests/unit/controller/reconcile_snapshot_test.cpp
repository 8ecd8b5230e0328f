// A tenant with Kubernetes' role `edit` may write every ConfigMap, and delete JobSets, but writes no status.
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "life.hpp"
#include "runtime/snapshot.hpp"

namespace controller {
namespace {

constexpr const char* refused_text =
    "spec.runtimeRef: ConfigMap ns/job-runtime-snapshot does not hold the runtime that this TrainJob began "
    "with, and ClusterTrainingRuntime \"torch\" has changed since; undo that, or delete the TrainJob and "
    "create it again";
constexpr const char* lost_text =
    "spec.runtimeRef: ConfigMap ns/job-runtime-snapshot, the runtime as this TrainJob began with it, is "
    "gone, "
    "and ClusterTrainingRuntime \"torch\" has changed since; undo that, or delete the TrainJob and create it "
    "again";

Json forged_runtime(const Life& life) {
    Json runtime = *life.server.find(cluster_training_runtimes, torch);
    runtime["spec"]["mlPolicy"]["numNodes"] = 7;
    runtime["spec"].erase("runPolicy");
    Json& job = runtime["spec"]["template"]["spec"]["replicatedJobs"].items().front();
    Json& pods = job["template"]["spec"]["template"]["spec"];
    pods["hostNetwork"] = true;
    pods["containers"].items().front()["image"] = "forged";
    return runtime;
}

// The same name and owner, another runtime.
void forge_snapshot(Life& life, const Json& runtime) {
    life.server.erase(config_maps, snapshot);
    life.server.put(config_maps, runtime::make_snapshot(api::parse_train_job(life.job()), runtime));
}

bool is_forged(const Json& object) { return to_json(object).find("forged") != std::string::npos; }

struct Held : Life {
    const Json genuine = *server.find(cluster_training_runtimes, torch);
    const Json forged = forged_runtime(*this);

    Held() {
        set_suspend(true);
        reconcile();
        REQUIRE(job_set()["spec"]["suspend"] == true);
    }
    void restore_runtime() {
        server.edit(cluster_training_runtimes, torch,
                    [this](Json& runtime) { runtime["spec"] = std::as_const(genuine)["spec"]; });
    }
    Json stored_runtime() const {
        return api::parse_yaml(server.find(config_maps, snapshot)->operator[]("data")["runtime"].as_string())
            .value();
    }
    bool runs_as_it_began() const {
        return job_set()["spec"]["suspend"] == false && !is_forged(job_set()) &&
               job_set()["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2;
    }
};

Json lose_status(Life& life) {
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.starts_with(status_path)) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
    };
    life.reconcile();
    life.server.refuse = {};
    REQUIRE(life.server.find(job_sets, key));
    REQUIRE(std::as_const(life.job())["status"].empty());
    return life.job_set();
}

}  // namespace

TEST_CASE("a forged snapshot gives way to the runtime that the job began with", "[snapshot]") {
    for (const bool has_job_set : {true, false}) {
        DYNAMIC_SECTION((has_job_set ? "beside its" : "without a") << " JobSet") {
            Held life;
            forge_snapshot(life, life.forged);
            if (!has_job_set) life.server.erase(job_sets, key);
            // Without a change nothing is built, and no snapshot is looked at.
            life.set_in_job("labels", api::parse_json(R"({"team": "a"})").value());
            life.set_suspend(false);
            life.server.take_writes();
            life.reconcile();
            CHECK(life.runs_as_it_began());
            CHECK(life.stored_runtime()["spec"] == life.genuine["spec"]);
            const Writes writes = life.server.take_writes();
            CHECK(std::count(writes.begin(), writes.end(),
                             "DELETE " + config_maps_path + "/job-runtime-snapshot") == 1);
            life.reconcile();
            CHECK(life.server.take_writes().empty());
        }
    }
}

TEST_CASE("a lost snapshot is made anew from the runtime that the job began with, and from no other",
          "[snapshot]") {
    for (const bool is_forged : {true, false}) {
        DYNAMIC_SECTION((is_forged ? "forged" : "gone")) {
            Held life;
            if (is_forged)
                forge_snapshot(life, life.forged);
            else
                life.server.erase(config_maps, snapshot);
            life.server.erase(job_sets, key);
            life.set_nodes(5);
            life.set_suspend(false);
            for (int i = 0; i < 3; ++i) life.reconcile();
            CHECK(life.condition("Created") == "False/JobsBuildFailed");
            CHECK(life.message("Created") == (is_forged ? refused_text : lost_text));
            CHECK_FALSE(life.server.find(job_sets, key));

            life.restore_runtime();
            life.reconcile();
            CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
            CHECK(life.runs_as_it_began());
        }
    }
}

TEST_CASE(
    "a suspended job whose snapshot is lost is resumed as it was built, whatever has become of its runtime",
    "[snapshot]") {
    for (const bool is_changed : {true, false}) {
        for (const char* loss : {"forged", "gone", "gone with its runtime"}) {
            DYNAMIC_SECTION(loss << (is_changed ? ", and the job has changed" : "")) {
                Held life;
                const std::string uid = api::parse_meta(life.job_set()).uid;
                if (loss == std::string("forged"))
                    forge_snapshot(life, life.forged);
                else
                    life.server.erase(config_maps, snapshot);
                if (loss == std::string("gone with its runtime"))
                    life.server.erase(cluster_training_runtimes, torch);
                else
                    life.set_nodes(5);
                if (is_changed) life.set_in_job("labels", api::parse_json(R"({"team": "a"})").value());
                life.set_suspend(false);
                for (int i = 0; i < 3; ++i) life.reconcile();
                CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
                CHECK(life.condition("Suspended") == "False/Resumed");
                CHECK(life.job_set()["spec"]["suspend"] == false);
                CHECK(api::parse_meta(life.job_set()).uid == uid);
                CHECK(life.runs_as_it_began());
                const auto told =
                    std::count_if(life.log_lines.begin(), life.log_lines.end(), [](const std::string& line) {
                        return line.find("JobSetKept") != std::string::npos &&
                               line.find("it cannot be built anew") != std::string::npos;
                    });
                CHECK(told == (is_changed ? 1 : 0));
            }
        }
    }
}

// The caches still have the job without a status. Whether its JobSet has Pods is then looked at, and that
// look leaves out the templates.
TEST_CASE("a resume without a build reads the JobSet that the last look has left out", "[snapshot]") {
    Life life;
    life.set_suspend(true);
    const Json without_status = life.job();
    life.reconcile();
    const Json now = life.job();
    const std::string uid = api::parse_meta(life.job_set()).uid;
    life.server.restore(train_jobs, without_status);
    life.server.erase(config_maps, snapshot);
    life.set_nodes(5);
    life.server.show(life.cache);
    life.frozen = true;
    life.server.restore(train_jobs, now);
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == false);
    CHECK(life.job_set()["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2);
    CHECK(api::parse_meta(life.job_set()).uid == uid);
}

TEST_CASE("a runtime that is deleted has to return as it was for a job without a JobSet", "[snapshot]") {
    Held life;
    forge_snapshot(life, life.forged);
    life.server.erase(job_sets, key);
    life.server.erase(cluster_training_runtimes, torch);
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.message("Created") ==
          "spec.runtimeRef: ConfigMap ns/job-runtime-snapshot does not hold the runtime that this TrainJob "
          "began with, and ClusterTrainingRuntime \"torch\" is gone; create it as it was then, or delete the "
          "TrainJob and create it again");
    life.server.put(cluster_training_runtimes, life.genuine);
    life.reconcile();
    CHECK(life.runs_as_it_began());
}

TEST_CASE("whenever a tenant replaces the snapshot, the JobSet is not built from it", "[snapshot]") {
    int moments = 0;
    for (int moment = 0;; ++moment) {
        INFO("before request " << moment);
        Life life;
        const Json forged = forged_runtime(life);
        int asked = 0;
        const auto forge_at_last = [&](const kube::Request&) -> std::optional<api::Error> {
            if (asked++ == moment && life.server.find(config_maps, snapshot)) {
                forge_snapshot(life, forged);
                ++moments;
            }
            if (const Json* job_set = life.server.find(job_sets, key)) CHECK_FALSE(is_forged(*job_set));
            return std::nullopt;
        };
        life.server.refuse = life.server.refuse_read = forge_at_last;
        life.set_suspend(true);
        for (int i = 0; i < 2; ++i) life.reconcile();
        life.set_suspend(false);
        for (int i = 0; i < 3; ++i) life.reconcile();
        life.server.erase(job_sets, key);
        for (int i = 0; i < 3; ++i) life.reconcile();
        CHECK_FALSE(is_forged(life.job_set()));
        CHECK(life.job_set()["spec"]["suspend"] == false);
        REQUIRE(moment < 200);
        if (asked <= moment) break;
    }
    CHECK(moments > 10);
}

TEST_CASE("a snapshot that is forged before the first status is stored is not what the job began with",
          "[snapshot]") {
    Life life;
    life.set_in_runtime("runPolicy", Json::object({{"maxActiveDeadlineSeconds", 60}}));
    const Json forged = forged_runtime(life);
    const Json job_set = lose_status(life);
    forge_snapshot(life, forged);

    SECTION("its JobSet tells") {
        life.reconcile();
        CHECK(life.job()["status"]["runtimeDigest"] ==
              runtime_digest(*life.server.find(cluster_training_runtimes, torch)));
        CHECK(life.job()["status"]["runPolicy"]["maxActiveDeadlineSeconds"] == 60);
        CHECK(life.job_set() == job_set);
    }
    SECTION("also after the runtime has changed") {
        const std::string began_with = runtime_digest(*life.server.find(cluster_training_runtimes, torch));
        life.set_nodes(5);
        life.reconcile();
        CHECK(life.job()["status"]["runtimeDigest"] == began_with);
        CHECK(life.job_set() == job_set);
    }
    SECTION("without a JobSet the live runtime counts") {
        life.server.erase(job_sets, key);
        life.set_nodes(5);
        life.reconcile();
        CHECK_FALSE(is_forged(life.job_set()));
        CHECK(life.job_set()["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 5);
        CHECK(life.job()["status"]["runtimeDigest"] ==
              runtime_digest(*life.server.find(cluster_training_runtimes, torch)));
    }
    SECTION("and nothing without both") {
        life.server.erase(job_sets, key);
        life.server.erase(cluster_training_runtimes, torch);
        life.reconcile();
        CHECK_FALSE(life.server.find(job_sets, key));
        CHECK(
            life.message("Created") ==
            "spec.runtimeRef: ClusterTrainingRuntime \"torch\" does not exist; create it, and this TrainJob "
            "goes on");
    }
}

TEST_CASE("a running job does not notice that its snapshot is forged, whatever objects it keeps",
          "[snapshot]") {
    for (const char* framework : {"torch", "mpi", "flux"}) {
        DYNAMIC_SECTION(framework) {
            Life life;
            life.set_in_runtime("mlPolicy", Json::object({{framework, Json::object()}}));
            life.reconcile();
            forge_snapshot(life, forged_runtime(life));
            life.set_in_runtime("ttlSecondsAfterFinished", 5);
            life.server.take_writes();
            life.reconcile();
            CHECK(life.server.take_writes().empty());
            CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
            life.server.now += 60s;
            life.finish_job_set();
            life.reconcile();
            CHECK(life.condition("Complete") == "True/AllJobsCompleted");
        }
    }
}

TEST_CASE("a job that began under Kubeflow Trainer gets its digest once, from the snapshot that is there",
          "[snapshot]") {
    Held life;
    const std::string digest(std::as_const(life.job())["status"]["runtimeDigest"].as_string());
    REQUIRE(digest == runtime_digest(life.genuine));
    const auto make_older = [&] {
        life.server.edit(train_jobs, key, [](Json& job) { job["status"].erase("runtimeDigest"); });
        life.server.edit(job_sets, key, [](Json& job_set) {
            Json& note = job_set["metadata"]["annotations"][api::applied_hash_annotation];
            std::string text(note.as_string());
            for (int parts = 0; parts < 2; ++parts) text.resize(text.rfind('.'));
            note = text;
        });
    };
    make_older();
    life.set_nodes(5);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() ==
          Writes{"PATCH /apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/job", "PATCH " + status_path});
    CHECK(life.job()["status"]["runtimeDigest"] == Json(digest));
    life.reconcile();
    CHECK(life.server.take_writes().empty());

    SECTION("a later one is not used") {
        forge_snapshot(life, life.forged);
        life.set_suspend(false);
        life.reconcile();
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        CHECK(life.job_set()["spec"]["suspend"] == false);
        CHECK(life.runs_as_it_began());
    }
    SECTION("without its JobSet, only one that the runtime confirms") {
        make_older();
        life.server.erase(job_sets, key);
        forge_snapshot(life, life.forged);
        life.set_suspend(false);
        life.reconcile();
        CHECK_FALSE(life.server.find(job_sets, key));
        CHECK(
            life.message("Created") ==
            "spec.runtimeRef: ConfigMap ns/job-runtime-snapshot does not hold the runtime that this TrainJob "
            "began with; delete the TrainJob and create it again");
    }
}

TEST_CASE("a runtime that cannot be read is not taken for one that has changed", "[snapshot]") {
    Held life;
    forge_snapshot(life, life.forged);
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target != runtime_path) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
    };
    life.set_in_job("labels", api::parse_json(R"({"team": "a"})").value());
    life.set_suspend(false);
    CHECK(life.reconcile().error);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.job_set()["spec"]["suspend"] == true);
    life.server.refuse_read = {};
    life.reconcile();
    CHECK(life.runs_as_it_began());
}

}  // namespace controller
