#include "timeline/timeline.hpp"

#include <fstream>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "cluster/lists.hpp"
#include "cluster/refusal.hpp"
#include "cluster/session.hpp"
#include "job/read.hpp"
#include "text/terminal.hpp"
#include "timeline/model.hpp"
#include "timeline/pod_times.hpp"

namespace cli {
namespace {

using api::Json;
namespace resources = kube::resources;

// Takes the list, or notes why it is missing.
void take(api::Result<std::vector<Json>> list, const char* what, std::vector<Json>& target, Timeline& notes) {
    if (list)
        std::move(list->begin(), list->end(), std::back_inserter(target));
    else
        notes.notes.push_back(std::string(what) + " could not be read: " + api::describe(list.error()));
}

api::Result<> write_file(const std::string& path, const Text& text) {
    std::ofstream file(path, std::ios::binary);
    file << text.str();
    file.close();
    return file ? api::Result<>() : api::Error{.message = path + " cannot be written"};
}

kube::Async<Timeline> read_timeline(Session& session, api::ObjectKey key) {
    TimelineObjects seen;
    Timeline missing;
    kube::Request request = kube::get(resources::train_jobs, key);
    auto job = co_await kube::fetch(session.server, std::move(request));
    if (!job) {
        api::Error error = job.error();
        error = co_await advised_by(session.server, std::move(error), key);
        co_return error;
    }
    seen.job = std::move(*job);
    kube::Request job_set_request = kube::get(resources::job_sets, key);
    auto job_set = co_await kube::fetch(session.server, std::move(job_set_request));
    if (job_set && api::parse_job_set(*job_set).belongs_to(api::parse_train_job(seen.job)))
        seen.job_set = std::move(*job_set);

    const std::string labels = std::string(api::job_set_name_label) + "=" + key.name;
    ListQuery jobs_query = {.resource = resources::jobs, .ns = key.ns, .labels = labels};
    auto jobs = co_await read_objects(session.server, std::move(jobs_query));
    take(std::move(jobs), "its Jobs", seen.jobs, missing);
    ListQuery pods_query = {.resource = resources::pods, .ns = key.ns, .labels = labels};
    auto pods = co_await read_objects(session.server, std::move(pods_query));
    seen.pods_unread = !pods;
    take(std::move(pods), "its Pods", seen.pods, missing);
    ListQuery own_events = {.resource = resources::events,
                            .ns = key.ns,
                            .fields = "involvedObject.name=" + key.name + ",involvedObject.kind=TrainJob"};
    auto events = co_await read_objects(session.server, std::move(own_events));
    take(std::move(events), "its events", seen.events, missing);
    ListQuery of_pods = {
        .resource = resources::events, .ns = key.ns, .fields = "involvedObject.kind=Pod,type=Normal"};
    auto pod_events = co_await read_objects(session.server, std::move(of_pods));
    if (pod_events) std::erase_if(*pod_events, [&](const Json& event) { return !is_of_pods(event, seen); });
    take(std::move(pod_events), "events of its Pods", seen.events, missing);

    Timeline timeline = timeline_of(seen, session.now());
    timeline.notes.insert(timeline.notes.end(), missing.notes.begin(), missing.notes.end());
    co_return std::move(timeline);
}

kube::Async<Output> show(Session& session, const TimelineSettings& settings) {
    const auto key = key_of(settings.train_job, settings.cluster, session.ns);
    if (!key) co_return key.error();
    const auto timeline = co_await read_timeline(session, *key);
    if (!timeline) co_return timeline.error();
    if (settings.svg == "-") co_return Output{.out = draw_svg(*timeline)};
    if (!settings.svg.empty()) {
        auto written = write_file(settings.svg, draw_svg(*timeline));
        if (!written) co_return written.error();
    }
    Output output = {.out = draw_text(*timeline, terminal())};
    co_return std::move(output);
}

}  // namespace

void add_options(net::Options& options, TimelineSettings& settings) {
    options.add_argument("NAMESPACE/NAME", settings.train_job,
                         "which TrainJob; a NAME alone is one of --namespace");
    options.add("svg", "FILE", settings.svg,
                "also draw it into this file, as a picture in SVG; - prints the picture instead");
    add_options(options, settings.cluster);
}

api::Result<Output> timeline(const TimelineSettings& settings) {
    return with_cluster(settings.cluster, "timeline",
                        [&](Session& session) { return show(session, settings); });
}

Command timeline_command() {
    static constexpr Example examples[] = {
        {"timeline night", "Shows what happened to the TrainJob night when."},
        {"timeline night --svg night.svg", "Draws it as a picture, too."},
    };
    return {.name = "timeline",
            .argument = "NAMESPACE/NAME",
            .about = "show what happened to a TrainJob when, and where time was lost",
            .help =
                "Shows as bars how long a TrainJob was suspended or queued, how long the creation of its "
                "Pods, their scheduling, image pulls and start have taken, and how long it runs; and the "
                "same of each Pod. A stage before running that takes a minute and a tenth of all the time is "
                "marked. It needs the role view. Exit status: 0; 1 if the TrainJob cannot be read; 2 on bad "
                "usage and for a kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<TimelineSettings, timeline>,
            .options = options_of<TimelineSettings>};
}

}  // namespace cli
