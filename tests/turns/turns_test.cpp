// Measures how long objects of the largest size that etcd stores block the reconciler's event loop, in CPU
// time of the release build, so that other load on the machine does not count.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <vector>

#include "api/json_reader.hpp"
#include "controller/cache/cache.hpp"
#include "controller/reconcile/controller.hpp"
#include "controller/reconcile/reconciler.hpp"
#include "kube/manager/event_recorder.hpp"
#include "kube/watch/watch_decoder.hpp"
#include "net/process/next_turn.hpp"
#include "runtime/size.hpp"

namespace {

using api::Json;

constexpr std::size_t largest =
    1'500'000;                        // bytes; etcd accepts 1.5 MiB, including the API server's additions
constexpr double longest_turn = 250;  // ms

double cpu_milliseconds() {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Returns memory of this process in MB: the resident size, or its peak since forget_peak().
double resident(const char* field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field)) return std::stod(line.substr(line.find(':') + 1)) * 1024 / 1e6;
    return 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

// The longest handler, and the last request of the reconcile at its end.
struct Turns {
    double longest = 0;
    double sum = 0;
    std::string what = {};

    double of_others = 0;  // work of the test's API server within the current handler
    std::string asked = {};

    void run(const std::function<void()>& handler) {
        of_others = 0;
        asked = "another turn";
        const double began = cpu_milliseconds();
        handler();
        const double turn = cpu_milliseconds() - began - of_others;
        sum += turn;
        if (turn > longest) longest = turn, what = asked;
    }
};

// An API server with some objects that stores requests unchanged. Its own work does not count.
class Desk final : public kube::ApiServer {
public:
    explicit Desk(Turns& turns) : turns_(turns) {}

    kube::Async<kube::Response> send(kube::Request request) override {
        turns_.asked = request.method + " " + request.target.substr(0, request.target.find('?'));
        co_await net::next_turn();
        const double began = cpu_milliseconds();
        kube::Response response;
        const bool found = request.method == "GET" ? read(request, response) : write(request, response);
        turns_.of_others += cpu_milliseconds() - began;
        if (!found) co_return none();
        co_return std::move(response);
    }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request) override { co_return none(); }

    const std::string& text(const std::string& path) { return texts_[path]; }
    void put(const std::string& path, std::string text) { texts_[path] = std::move(text); }

    std::size_t sent = 0;  // largest body in bytes

private:
    static api::Error none() {
        return {.code = api::Errc::not_found, .message = "not found", .http_status = 404};
    }
    bool read(const kube::Request& request, kube::Response& response) const {
        const auto at = texts_.find(request.target);
        if (at != texts_.end()) response.body = at->second;
        return at != texts_.end();
    }
    bool write(const kube::Request& request, kube::Response& response) {
        sent = std::max(sent, request.body.size());
        response.status = 201;
        std::string path = request.target.substr(0, request.target.find('?'));
        Json object = api::parse_json(request.body).value();
        if (path.ends_with("/status")) {
            path.resize(path.size() - std::string_view("/status").size());
            Json status = std::as_const(object)["status"];
            object = api::parse_json(texts_.at(path)).value();
            object["status"] = std::move(status);
        }
        if (request.method == "POST")
            path += "/" + std::string(std::as_const(object)["metadata"]["name"].as_string());
        if (std::as_const(object)["metadata"]["uid"].is_null())
            object["metadata"]["uid"] = "0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f03";
        object["metadata"]["resourceVersion"] = "9";
        response.body = texts_[path] = to_json(object);
        return true;
    }

    Turns& turns_;
    std::map<std::string, std::string> texts_ = {};
};

Json parsed(const std::string& text) { return api::parse_json(text).value(); }

Json train_job() {
    return parsed(
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"job","namespace":"ns",
        "uid":"0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f01","resourceVersion":"5","creationTimestamp":"2026-01-15T10:00:00Z"},
        "spec":{"runtimeRef":{"name":"plain"}}})");
}
Json plain_runtime() {
    return parsed(
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"ClusterTrainingRuntime","metadata":{"name":"plain",
        "uid":"0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f02","resourceVersion":"4"},
        "spec":{"mlPolicy":{"numNodes":1,"torch":{}},"template":{"spec":{"replicatedJobs":[{"name":"node","template":{
        "metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
        "spec":{"template":{"spec":{"containers":[{"name":"node","image":"base"}]}}}}}]}}}})");
}
Json& pod_spec_of(Json& job_set_spec) {
    return job_set_spec["replicatedJobs"].items()[0]["template"]["spec"]["template"]["spec"];
}

// Adds items until their text has that many bytes, or they hold that many values.
void fill(Json& list, std::size_t bytes, const std::function<Json(std::size_t)>& item,
          std::size_t most = std::numeric_limits<std::size_t>::max()) {
    for (std::size_t i = 0, sum = 0, values = 0; sum < bytes && values < most; ++i) {
        list.push_back(item(i));
        sum += to_json(list.items().back()).size() + 1;
        values += api::count_tree_values(list.items().back());
    }
}
// A runtime with more values is not built.
void fill_runtime(Json& list, const std::function<Json(std::size_t)>& item) {
    fill(list, largest, item, runtime::max_runtime_values - 1'000);
}

Json variable(std::size_t i) { return Json::object({{"name", "A" + std::to_string(i)}}); }
Json named_downwards(std::size_t i) { return Json::object({{"name", "n" + std::to_string(999'999 - i)}}); }
Json toleration(std::size_t i) { return Json::object({{"key", "k" + std::to_string(i)}}); }
Json text(std::size_t) { return ""; }

void fill_map(Json& map, std::size_t bytes) {
    Json::Object::Members members;
    for (std::size_t i = 0, sum = 0; sum < bytes; ++i) {
        members.push_back({"k" + std::to_string(i), Json("")});
        sum += members.back().key.size() + 6;
    }
    map = Json::Object(std::move(members));
}

Json& patch_of(Json& job) {
    Json patch = parsed(
        R"({"manager":"a.example.com/b","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node",
        "template":{"spec":{"template":{"spec":{}}}}}]}}}})");
    job["spec"]["runtimePatches"].push_back(std::move(patch));
    return pod_spec_of(
        job["spec"]["runtimePatches"].items().back()["trainingRuntimeSpec"]["template"]["spec"]);
}

void patches_with_volumes(Json& job, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) fill(patch_of(job)["volumes"], largest / count, named_downwards);
}

Json& pod_spec_of_runtime(Json& runtime) { return pod_spec_of(runtime["spec"]["template"]["spec"]); }
Json& container_of_runtime(Json& runtime) { return pod_spec_of_runtime(runtime)["containers"].items()[0]; }

struct Case {
    std::string name;
    std::function<void(Json& job, Json& runtime)> grow;
};

const Case cases[] = {
    {"arguments of the trainer",
     [](Json& job, Json&) { fill(job["spec"]["trainer"]["args"], largest, text); }},
    {"one long argument",
     [](Json& job, Json&) { job["spec"]["trainer"]["args"].push_back(std::string(largest, 'x')); }},
    {"variables of the trainer",
     [](Json& job, Json&) { fill(job["spec"]["trainer"]["env"], largest, variable); }},
    {"labels of the JobSet",
     [](Json& job, Json&) {
         patch_of(job);
         Json& patch = job["spec"]["runtimePatches"].items().back();
         fill_map(patch["trainingRuntimeSpec"]["template"]["metadata"]["labels"], largest);
     }},
    {"a patch with volumes", [](Json& job, Json&) { patches_with_volumes(job, 1); }},
    {"sixteen patches with volumes", [](Json& job, Json&) { patches_with_volumes(job, 16); }},
    {"variables of the runtime",
     [](Json&, Json& runtime) { fill_runtime(container_of_runtime(runtime)["env"], variable); }},
    {"arguments of the runtime",
     [](Json&, Json& runtime) { fill_runtime(container_of_runtime(runtime)["args"], text); }},
    {"volumes of the runtime",
     [](Json&, Json& runtime) { fill_runtime(pod_spec_of_runtime(runtime)["volumes"], named_downwards); }},
    {"containers of the runtime",
     [](Json&, Json& runtime) {
         fill_runtime(pod_spec_of_runtime(runtime)["containers"], [](std::size_t i) {
             Json container = named_downwards(i);
             container["image"] = "i";
             return container;
         });
     }},
    // An annotation records the applied ones; annotations may have 256 KiB, and others may add to the list.
    {"tolerations of the runtime and of others",
     [](Json&, Json& runtime) { fill(pod_spec_of_runtime(runtime)["tolerations"], 200'000, toleration); }},
    {"jobs of the runtime",
     [](Json&, Json& runtime) {
         fill_runtime(runtime["spec"]["template"]["spec"]["replicatedJobs"], [](std::size_t i) {
             Json job = parsed(
                 R"({"template":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"i"}]}}}}})");
             job["name"] = "j" + std::to_string(999'999 - i);
             return job;
         });
     }},
    {"arguments of both",
     [](Json& job, Json& runtime) {
         fill_runtime(container_of_runtime(runtime)["args"], text);
         fill(job["spec"]["trainer"]["args"], largest, text);
     }},
    {"variables of both",
     [](Json& job, Json& runtime) {
         fill_runtime(container_of_runtime(runtime)["env"], variable);
         fill(job["spec"]["trainer"]["env"], largest, [](std::size_t i) { return variable(200'000 - i); });
     }},
    {"volumes of both",
     [](Json& job, Json& runtime) {
         fill_runtime(pod_spec_of_runtime(runtime)["volumes"], named_downwards);
         patches_with_volumes(job, 16);
     }},
};

const std::string job_path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job";
const std::string runtime_path = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/plain";
const std::string job_set_path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/job";

// The reconciler with one TrainJob and its runtime.
struct Shop {
    Turns turns = {};
    double memory = 0;  // of the last reconcile, in MB, including this test's API server
    Desk desk{turns}, desk_for_events{turns};
    boost::asio::io_context context{1};
    std::unique_ptr<kube::Clock> clock = kube::make_clock(context.get_executor());
    api::Time now = std::chrono::floor<std::chrono::seconds>(clock->wall());
    kube::EventRecorder events{context.get_executor(), desk_for_events, *clock, "test"};
    net::Log silent{net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}};
    controller::Cache cache{[](const api::ObjectKey&, const controller::Change&) {}};
    controller::SharedObjects shared{*clock};
    controller::Reconciler pass{
        desk, cache, events, silent, [this] { return now; }, {}, {runtime::default_pipeline(), shared}};

    // Adds an object like a watch.
    template <class Facts>
    void show(const std::string& path, kube::Store<Facts>& store) {
        const std::string line = R"({"type":"MODIFIED","object":)" + desk.text(path) + "}";
        turns.run([&] {
            auto event = kube::decode_watch_line(line, controller::Cache::omitted_of_job_sets).value();
            store.sections()[0].sink.upsert(event.key, event.resource_version, std::move(event.object),
                                            line.size());
            turns.asked = "the next line";
        });
    }
    controller::ReconcileResult run() {
        std::optional<controller::ReconcileResult> report;
        const api::ObjectKey key = {"ns", "job"};
        const auto task = [&]() -> net::Task<> { report = co_await pass.run(key, {}); };
        malloc_trim(0);
        forget_peak();
        const double before = resident("VmRSS");
        context.restart();
        boost::asio::co_spawn(context, task(), boost::asio::detached);
        while (!report) turns.run([this] { context.run_one(); });
        memory = resident("VmHWM") - before;
        return *report;
    }
    // Prints the longest turn since the last call.
    void tell(const std::string& what) {
        std::cout << std::left << std::setw(60) << what << std::fixed << std::setprecision(0)
                  << "longest turn " << turns.longest << " ms, before " << turns.what << "; " << turns.sum
                  << " ms and " << memory << " MB in all\n";
        longest = std::max(longest, turns.longest);
        turns = {};
    }
    double longest = 0;
};

// A job that is created suspended, and then resumed.
double longest_turn_of(const Case& each) {
    Shop shop;
    Json job = train_job(), of_it = plain_runtime();
    each.grow(job, of_it);
    job["spec"]["suspend"] = true;
    shop.desk.put(job_path, to_json(job));
    shop.desk.put(runtime_path, to_json(of_it));
    shop.show(job_path, shop.cache.train_jobs());
    shop.show(runtime_path, shop.cache.cluster_training_runtimes());
    CHECK(shop.run().trouble == std::nullopt);
    REQUIRE(!shop.desk.text(job_set_path).empty());
    shop.tell(each.name + ": created suspended");

    job["spec"].erase("suspend");
    job["metadata"]["resourceVersion"] = "8";
    job["status"] =
        parsed(R"({"conditions":[{"type":"Created","status":"True","reason":"JobsCreationSucceeded"},
                {"type":"Suspended","status":"False","reason":"Resumed","lastTransitionTime":"2026-01-15T10:00:00Z"}]})");
    shop.desk.put(job_path, to_json(job));
    // Others have filled it to the largest size.
    Json job_set = parsed(shop.desk.text(job_set_path));
    if (const std::size_t size = to_json(job_set).size(); size < largest)
        fill(pod_spec_of(job_set["spec"])["tolerations"], largest - size,
             [](std::size_t i) { return toleration(500'000 - i); });
    shop.desk.put(job_set_path, to_json(job_set));
    shop.show(job_path, shop.cache.train_jobs());
    shop.show(job_set_path, shop.cache.job_sets());
    CHECK(shop.run().trouble == std::nullopt);
    shop.tell(each.name + ": resumed");
    CHECK_FALSE(parsed(shop.desk.text(job_set_path))["spec"]["suspend"].bool_or(false));
    return shop.longest;
}

// The whole reconciler, with TrainJobs that others manage, and a namespace's runtime that changes.
double longest_turn_of_changes(int users, int changes) {
    Turns turns;
    Desk desk{turns}, desk_for_events{turns};
    boost::asio::io_context context{1};
    const std::unique_ptr<kube::Clock> clock = kube::make_clock(context.get_executor());
    kube::EventRecorder events{context.get_executor(), desk_for_events, *clock, "test"};
    net::Log silent{net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}};
    net::Metrics metrics;
    std::unique_ptr<controller::Controller> work;
    controller::Cache cache{
        [&](const api::ObjectKey& key, const controller::Change& change) { work->enqueue(key, change); }};
    controller::SharedObjects shared{*clock};
    controller::Reconciler pass{desk,
                                cache,
                                events,
                                silent,
                                [&] { return std::chrono::floor<std::chrono::seconds>(clock->wall()); },
                                {},
                                {runtime::default_pipeline(), shared}};
    work = std::make_unique<controller::Controller>(
        context.get_executor(), *clock, cache, pass, metrics, silent, [] { return true; },
        controller::Controller::Limits{});
    const auto list = [](auto& store, const std::function<void(kube::Sink&)>& objects) {
        kube::Sink& sink = store.sections()[0].sink;
        sink.listing();
        objects(sink);
        sink.synced("5");
    };
    const auto none = [](kube::Sink&) {};
    Json runtime = plain_runtime();
    const api::ObjectKey name = {"ns", "plain"};
    list(cache.job_sets(), none);
    list(cache.cluster_training_runtimes(), none);
    list(cache.training_runtimes(), [&](kube::Sink& sink) { sink.upsert(name, "4", runtime, 500); });
    list(cache.train_jobs(), [&](kube::Sink& sink) {
        Json job = train_job();
        job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
        job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime";
        for (int i = 0; i < users; ++i) {
            job["metadata"]["name"] = "job-" + std::to_string(i);
            sink.upsert({"ns", "job-" + std::to_string(i)}, "5", job, 500);
        }
    });
    boost::asio::cancellation_signal stop;
    boost::asio::co_spawn(context, work->run(),
                          boost::asio::bind_cancellation_slot(stop.slot(), boost::asio::detached));
    const auto run_ready = [&] {
        for (std::size_t handled = 1; handled > 0;) turns.run([&] { handled = context.poll_one(); });
    };
    run_ready();
    REQUIRE(work->reconciles_started() == static_cast<std::uint64_t>(users));
    // As many events as one turn of a watch has.
    turns.run([&] {
        for (int i = 0; i < changes; ++i) {
            runtime["spec"]["ttlSecondsAfterFinished"] = i;
            cache.training_runtimes().sections()[0].sink.upsert(name, std::to_string(10 + i), runtime, 500);
        }
    });
    run_ready();
    CHECK(work->reconciles_started() > static_cast<std::uint64_t>(users));
    std::cout << users << " users of a runtime that changes " << changes << " times: longest turn "
              << turns.longest << " ms\n";
    stop.emit(boost::asio::cancellation_type::terminal);
    context.restart();
    context.run();
    return turns.longest;
}

}  // namespace

TEST_CASE("no number of TrainJobs that use a changed runtime keeps the event loop for more than 50 ms") {
    double longest = longest_turn_of_changes(10'000, 64);
    for (int tries = 1; tries < 3 && longest >= 50; ++tries)
        longest = std::min(longest, longest_turn_of_changes(10'000, 64));
    CHECK(longest < 50);
}

TEST_CASE("no object that etcd stores keeps the event loop for more than 250 ms") {
    for (const Case& each : cases) {
        DYNAMIC_SECTION(each.name) {
            // Other load on the machine leaves caches cold, which takes CPU time as well.
            double longest = longest_turn_of(each);
            for (int tries = 1; tries < 3 && longest >= longest_turn; ++tries)
                longest = std::min(longest, longest_turn_of(each));
            CHECK(longest < longest_turn);
        }
    }
}
