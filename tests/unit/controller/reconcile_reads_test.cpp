// What becomes of a reconcile when something cannot be read, or is gone.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

api::Error no_answer() { return {.code = api::Errc::unavailable, .message = "connection lost"}; }

// Every read of this path fails, as often as it is tried.
void make_unreadable(Life& life, const std::string& path) {
    life.server.refuse_read = [path](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.starts_with(path)) return std::nullopt;
        return no_answer();
    };
}

}  // namespace

TEST_CASE("suspending does not wait for a runtime that cannot be read") {
    Life life;
    life.reconcile();
    life.server.take_writes();
    make_unreadable(life, runtime_path);
    life.set_suspend(true);
    CHECK_FALSE(life.reconcile().error);
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path, "PATCH " + job_set_path});
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("suspending does not wait for a build that fails") {
    Life life;
    life.reconcile();
    life.server.erase(config_maps, snapshot);
    life.server.erase(cluster_training_runtimes, torch);
    life.set_suspend(true);
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsBuildFailed");
}

TEST_CASE("the deadline does not wait for a runtime that cannot be read, nor does cleaning up after it") {
    Life life;
    life.set_in_job("activeDeadlineSeconds", 60);
    life.reconcile();
    make_unreadable(life, runtime_path);
    life.server.now += 61s;
    life.reconcile();
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
}

TEST_CASE("a JobSet is not created while the runtime cannot be read, and no condition says so") {
    Life life;
    make_unreadable(life, runtime_path);
    const auto report = life.reconcile();
    CHECK(report.error);
    CHECK(report.requeue_after);
    CHECK(life.server.take_writes().empty());
    life.server.refuse_read = {};
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("resuming takes the snapshot and does not wait for a runtime that cannot be read") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    make_unreadable(life, runtime_path);
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
}

TEST_CASE(
    "a runtime that cannot be read is not taken for one that is gone: the snapshot's TTL does not count") {
    Life life;
    life.set_in_runtime("ttlSecondsAfterFinished", 30);
    life.reconcile();
    life.finish_job_set();
    life.reconcile();
    make_unreadable(life, runtime_path);
    life.server.now += 30s;
    life.server.take_writes();
    const auto report = life.reconcile();
    CHECK(report.error);
    CHECK(report.requeue_after);
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a running TrainJob stays as it is when its runtime and its snapshot are gone") {
    Life life;
    life.reconcile();
    life.server.erase(cluster_training_runtimes, torch);
    life.server.erase(config_maps, snapshot);
    life.server.take_writes();
    CHECK_FALSE(life.reconcile().error);
    CHECK(life.server.take_writes().empty());
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");

    // A suspended one is to take changes, and those can no longer be found.
    life.set_suspend(true);
    life.reconcile();
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    CHECK(life.condition("Created") == "False/JobsBuildFailed");
}

// As the original leaves it: without our annotation, and, from an old release, without a snapshot.
void run_since_before_our_time(Life& life) {
    life.reconcile();
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["metadata"]["annotations"].erase(api::applied_hash_annotation);
    });
    life.server.erase(config_maps, snapshot);
    life.server.take_writes();
}

TEST_CASE("a job that was running when we came gets its snapshot, so that later runtimes do not reach it") {
    Life life;
    run_since_before_our_time(life);
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path});
    const Json stored = *life.server.find(config_maps, snapshot);

    life.set_nodes(7);
    CHECK_FALSE(life.reconcile().error);
    CHECK(life.server.take_writes().empty());
    CHECK(*life.server.find(config_maps, snapshot) == stored);
}

TEST_CASE("what keeps a running job's snapshot from being stored is an error, and no condition of the job") {
    Life life;
    run_since_before_our_time(life);
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.method != "POST") return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "exceeded quota: few", .http_status = 403};
    };
    const auto report = life.reconcile();
    CHECK(report.error);
    CHECK(report.requeue_after);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");

    life.server.refuse = nullptr;
    life.server.erase(cluster_training_runtimes, torch);
    CHECK_FALSE(life.reconcile().error);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet that is being deleted is waited for, whatever became of runtime and snapshot") {
    Life life;
    life.reconcile();
    life.server.erase(cluster_training_runtimes, torch);
    life.server.erase(config_maps, snapshot);
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["metadata"]["finalizers"] = Json::array({"example.com/hold"});
    });
    life.server.ask_to_delete(job_sets, key);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.server.erase(job_sets, key);
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsBuildFailed");
}

namespace {

// A point in a job's life at which a reconcile reads something.
struct Scene {
    const char* name;
    void (*lead_up)(Life& life);
};

const Scene scenes[] = {
    {"a job starts", [](Life&) {}},
    {"a job starts without its runtime",
     [](Life& life) { life.server.erase(cluster_training_runtimes, torch); }},
    {"a corrected runtime replaces the snapshot",
     [](Life& life) {
         life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
             if (request.target != job_set_path) return std::nullopt;
             return api::Error{.code = api::Errc::invalid, .message = "no", .http_status = 422};
         };
         life.reconcile();
         life.server.refuse = {};
         life.set_nodes(5);
     }},
    {"a JobSet that is gone is built again",
     [](Life& life) {
         life.reconcile();
         life.server.erase(job_sets, key);
     }},
    {"a job is suspended",
     [](Life& life) {
         life.reconcile();
         life.set_suspend(true);
     }},
    {"a job is resumed",
     [](Life& life) {
         life.set_suspend(true);
         life.reconcile();
         life.set_suspend(false);
     }},
    {"the deadline passes",
     [](Life& life) {
         life.set_in_job("activeDeadlineSeconds", 60);
         life.reconcile();
         life.server.now += 61s;
     }},
    {"the TTL of a runtime that is gone passes",
     [](Life& life) {
         life.set_in_runtime("ttlSecondsAfterFinished", 30);
         life.reconcile();
         life.finish_job_set();
         life.reconcile();
         life.server.erase(cluster_training_runtimes, torch);
         life.server.now += 30s;
     }},
};

// What is there in the end, without what only counts writes.
std::vector<std::string> objects_of(Life& life) {
    std::vector<std::string> all;
    for (const Json* object : {life.server.find(train_jobs, key), life.server.find(job_sets, key),
                               life.server.find(config_maps, snapshot)}) {
        Json bare = object ? *object : Json();
        if (object)
            for (const char* field : {"uid", "resourceVersion"}) bare["metadata"].erase(field);
        all.push_back(to_json(bare));
    }
    return all;
}

}  // namespace

TEST_CASE("every read of a reconcile may fail once, and the next reconcile ends in the same state") {
    for (const Scene& scene : scenes) {
        Life undisturbed;
        scene.lead_up(undisturbed);
        std::size_t reads = 0;
        undisturbed.server.refuse_read = [&](const kube::Request&) -> std::optional<api::Error> {
            ++reads;
            return std::nullopt;
        };
        undisturbed.reconcile();
        CHECK(reads > 0);
        const auto want = objects_of(undisturbed);

        for (std::size_t broken = 0; broken < reads; ++broken) {
            INFO(scene.name << ", read " << broken);
            Life life;
            scene.lead_up(life);
            std::size_t count = 0;
            life.server.refuse_read = [&](const kube::Request&) -> std::optional<api::Error> {
                if (count++ != broken) return std::nullopt;
                return no_answer();
            };
            const auto report = life.reconcile();
            // What does not need that read is done by now, and the rest is retried.
            if (objects_of(life) != want) {
                CHECK(report.requeue_after);
                life.reconcile();
            }
            CHECK(objects_of(life) == want);
        }
    }
}

}  // namespace controller
