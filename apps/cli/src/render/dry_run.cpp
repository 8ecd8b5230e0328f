#include "render/dry_run.hpp"

#include <boost/asio/io_context.hpp>

#include "controller/reconcile/reconciler.hpp"
#include "controller/reconcile/shared_objects.hpp"
#include "offline/input.hpp"

namespace cli {
namespace {

using api::Json;
namespace resources = kube::resources;

// Fields that the API server sets in an object that is created now. An existing UID stays: then the built
// objects are those of the cluster, byte for byte.
Json as_created(Json job, api::Time now) {
    Json& metadata = job["metadata"];
    for (const char* name : {"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"})
        metadata.erase(name);
    if (std::as_const(metadata)["uid"].as_string().empty()) metadata["uid"] = offline::placeholder_uid;
    metadata["creationTimestamp"] = api::format_time(now);
    metadata["generation"] = 1;
    metadata["resourceVersion"] = "1";
    job.erase("status");
    return job;
}

void show_all(const offline::DocumentServer& server, controller::Cache& cache) {
    server.show(resources::train_jobs, cache.train_jobs().partitions());
    server.show(resources::job_sets, cache.job_sets().partitions());
    server.show(resources::training_runtimes, cache.training_runtimes().partitions());
    server.show(resources::cluster_training_runtimes, cache.cluster_training_runtimes().partitions());
    for (const controller::Cache::OwnedKind& kind : cache.owned_kinds())
        server.show(kind.resource, kind.objects->partitions());
}

// The result of a reconcile that could not do its work; some of it is no error for the controller.
std::optional<api::Error> error_of(const controller::ReconcileResult& report, const api::TrainJob& after) {
    if (report.error) return report.error;
    for (const api::Condition& condition : after.conditions) {
        const bool failed = condition.type == api::condition::failed && condition.is_true();
        const bool not_created = condition.type == api::condition::created && !condition.is_true();
        if (failed || not_created) return api::invalid("", condition.message);
    }
    return std::nullopt;
}

}  // namespace

Rendering render_train_job(offline::DocumentServer server, const api::ObjectKey& train_job,
                           const runtime::Pipeline& pipeline) {
    boost::asio::io_context context{1};
    const auto clock = kube::make_clock(context.get_executor());
    const auto now = std::chrono::floor<std::chrono::seconds>(clock->wall());
    server.put(resources::train_jobs, as_created(*server.find(resources::train_jobs, train_job), now));

    kube::EventRecorder events(context.get_executor(), server, *clock, "render");
    net::Log silent(net::LogLevel::error, net::LogFormat::text, [](std::string_view) {});
    controller::Cache cache([](const api::ObjectKey&, const controller::Change&) {}, {}, pipeline);
    show_all(server, cache);
    controller::SharedObjects shared(*clock);
    controller::Reconciler reconciler(server, cache, events, silent, [now] { return now; }, {},
                                      {pipeline, shared});
    controller::ReconcileResult report;
    const auto run = [&]() -> net::Task<> { report = co_await reconciler.reconcile(train_job, {}); };
    offline::run_to_end(context, run());

    const api::TrainJob after = api::parse_train_job(*server.find(resources::train_jobs, train_job));
    Rendering rendering = {.objects = server.written(), .error = error_of(report, after)};
    rendering.is_managed_by_others = !api::is_managed_here(after);
    if (rendering.error) return rendering;
    for (const Json& event : server.events())
        if (event["type"].as_string() == "Warning")
            rendering.warnings.push_back(std::string(event["reason"].as_string()) + ": " +
                                         std::string(event["message"].as_string()));
    return rendering;
}

}  // namespace cli
