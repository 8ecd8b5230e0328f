#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "controller/reconcile/reconciler.hpp"
#include "model_server.hpp"
#include "runtime/plugin.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

/// One TrainJob with its runtime on the modelled API server, and the reconciles over it.
namespace controller {

using api::Json;
using kube::resources::cluster_training_runtimes;
using kube::resources::config_maps;
using kube::resources::job_sets;
using kube::resources::train_jobs;
using namespace std::chrono_literals;
using Writes = std::vector<std::string>;

inline const char* const runtime_text = R"({
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"},
    "spec": {"mlPolicy": {"numNodes": 2, "torch": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node",
        "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                     "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "base"}]}}}}}]}}}})";

inline const char* const job_text = R"({
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
    "metadata": {"name": "job", "namespace": "ns", "generation": 1},
    "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "torch"},
             "managedBy": "trainer.kubeflow.org/trainjob-controller"}})";

inline const std::string status_path =
    "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status";
inline const std::string job_path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job";
inline const std::string runtime_path = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch";
inline const std::string job_set_path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/job";
inline const std::string jobs_path = "/apis/batch/v1/namespaces/ns/jobs";
inline const std::string config_maps_path = "/api/v1/namespaces/ns/configmaps";
inline const api::ObjectKey key = {"ns", "job"};
inline const api::ObjectKey torch = {"", "torch"};
inline const api::ObjectKey snapshot = {"ns", "job-runtime-snapshot"};

/// The caches see everything before each reconcile unless they are delayed.
struct Life {
    ModelServer server = {};
    boost::asio::io_context context = {};
    VirtualClock time{context};
    std::unique_ptr<kube::Clock> clock = kube::make_clock(context.get_executor());
    ModelServer event_server = {};
    kube::EventRecorder events{context.get_executor(), event_server, *clock, "test"};
    std::vector<std::string> log_lines = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json,
                 [this](std::string_view line) { log_lines.emplace_back(line); }};
    kube::Namespaces namespaces;
    runtime::Pipeline pipeline;
    controller::Cache cache{[](const api::ObjectKey&, const controller::Change&) {}, namespaces, pipeline};
    int changes = 0;  ///< of what all TrainJobs have in common
    controller::SharedObjects shared{time, [this] { ++changes; }};
    controller::Reconciler reconciler{
        server,
        cache,
        events,
        log,
        [this] { return kube::ServerTime(server.now + clock_ahead, clock_is_certain); },
        {},
        {pipeline, shared}};
    std::chrono::seconds clock_ahead{0};  ///< of what answers allow
    bool clock_is_certain = true;
    bool frozen = false;
    lifecycle::RetryState retry_state = {};  ///< handed in with each reconcile

    /// Returns the note that its JobSet has been seen with its Service.
    lifecycle::ServiceWatch has_service() {
        return {.job_set_creation = api::parse_meta(job_set()).creation,
                .looked = server.now,
                .found = lifecycle::ServiceLook::usable};
    }

    explicit Life(runtime::Pipeline plugins = runtime::make_pipeline({}), kube::Namespaces of = {})
        : namespaces(std::move(of)), pipeline(std::move(plugins)) {
        server.put(cluster_training_runtimes, api::parse_json(runtime_text).value());
        server.put(train_jobs, api::parse_json(job_text).value());
    }

    controller::ReconcileResult reconcile() {
        if (!frozen) server.show(cache);
        controller::ReconcileResult report;
        const auto run = [&]() -> kube::Task<> { report = co_await reconciler.reconcile(key, retry_state); };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        return report;
    }

    const Json& job() const { return *server.find(train_jobs, key); }
    const Json& job_set() const { return *server.find(job_sets, key); }
    /// As a user would; the caches see it.
    void set_in_job(const char* field, Json value) {
        server.edit(train_jobs, key, [&](Json& job) { job["spec"][field] = std::move(value); });
    }
    void set_suspend(bool suspend) { set_in_job("suspend", suspend); }
    void set_in_runtime(const char* field, Json value) {
        server.edit(cluster_training_runtimes, torch,
                    [&](Json& runtime) { runtime["spec"][field] = std::move(value); });
    }
    void set_nodes(int count) {
        server.edit(cluster_training_runtimes, torch,
                    [&](Json& runtime) { runtime["spec"]["mlPolicy"]["numNodes"] = count; });
    }
    /// As the JobSet controller counts Jobs: `status.replicatedJobsStatus`.
    void count_in_job_set(const char* counts) {
        server.edit(job_sets, key, [&](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] = api::parse_json(counts).value();
        });
    }
    void finish_job_set() {
        server.edit(job_sets, key, [this](Json& job_set) {
            job_set["status"]["conditions"] =
                Json::array({Json::object({{"type", "Completed"},
                                           {"status", "True"},
                                           {"reason", "AllJobsCompleted"},
                                           {"message", "jobset completed successfully"},
                                           {"lastTransitionTime", api::format_time(server.now)}})});
        });
    }
    std::string condition(std::string_view type) {
        for (const api::Condition& c : api::parse_train_job(job()).conditions)
            if (c.type == type) return c.status + "/" + c.reason;
        return "";
    }
    /// What the condition says; empty without one.
    std::string message(std::string_view type) {
        for (const api::Condition& c : api::parse_train_job(job()).conditions)
            if (c.type == type) return c.message;
        return "";
    }
};

}  // namespace controller
