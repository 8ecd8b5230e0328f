#include "story.hpp"

#include "text.hpp"

namespace lifecycle {

void Story::wrote(std::string what) {
    writes.push_back(std::move(what));
    if (static_cast<int>(writes.size()) == dies_after) throw Death{};
}

void Story::pass() try {
    for (bool again = true; again;) {
        const Decision decision = decide(cluster, now);
        // The observation precedes the acting, as in the reconciler.
        const Observed observed = cluster;
        act(decision);
        const Conclusion conclusion = conclude(observed, decision, acting, now, options);
        requeue_after = conclusion.requeue_after;
        cluster.episode = conclusion.episode;
        for (const Event& event : conclusion.events)
            if (!event.needs_status) events.push_back(event);
        if (conclusion.status_changed && cluster.job) store(conclusion);
        for (const Event& event : conclusion.events)
            if (event.needs_status) events.push_back(event);
        again = conclusion.decide_again;
        acting.job_set_written = false;
    }
} catch (const Death&) {
    // The memory is gone; the cluster is not.
    cluster.episode = {};
    acting.job_set_written = false;
}

void Story::act(const Decision& decision) {
    if (std::holds_alternative<Expire>(decision)) {
        cluster.job->meta.deletion = now;
        if (cluster.job->meta.finalizers.empty()) {
            cluster.job.reset();
            cluster.job_set.reset();
        }
        wrote("delete TrainJob");
    } else if (const auto* clean_up = std::get_if<CleanUp>(&decision); clean_up && clean_up->delete_job_set) {
        cluster.job_set.reset();
        wrote("delete JobSet");
    } else if (const auto* run = std::get_if<Run>(&decision)) {
        act_on(*run);
    }
}

void Story::act_on(const Run& run) {
    if (run.suspend_job_set) {
        cluster.job_set->suspend = true;
        wrote("suspend JobSet");
    }
    if (!run.build || !std::holds_alternative<Done>(acting.result)) return;
    if (run.job_set == JobSetStep::create) {
        cluster.job_set = job_set_of(*cluster.job);
        cluster.job_set->meta.uid = "job-set-" + std::to_string(++job_sets_made);
        cluster.job_set->replicated_jobs.clear();
        acting.job_set_written = true;
        wrote("create JobSet");
    } else if (run.job_set == JobSetStep::resume) {
        cluster.job_set->suspend = false;
        acting.job_set_written = true;
        wrote("resume JobSet");
    }
}

void Story::store(const Conclusion& conclusion) {
    // Through JSON, as the cluster keeps it.
    const api::Json patch = status_patch(*cluster.job, conclusion);
    if (patch["status"].contains("conditions"))
        cluster.job->conditions = api::parse_conditions(patch["status"]["conditions"]);
    if (patch["status"].contains("jobsStatus"))
        cluster.job->jobs_status = api::parse_jobs_status(patch["status"]["jobsStatus"]);
    wrote("status");
}

void Story::job_set_controller() {
    if (!cluster.job_set || cluster.job_set->finished) return;
    if (cluster.job_set->suspend)
        cluster.job_set->replicated_jobs = {{.name = "node", .suspended = 1}};
    else
        cluster.job_set->replicated_jobs = {{.name = "node", .ready = 1, .active = 1}};
}

void Story::settle() {
    for (int passes = 0; passes < 20; ++passes) {
        const auto before = writes.size();
        pass();
        const auto written = writes.size() - before;
        const auto counts =
            cluster.job_set ? cluster.job_set->replicated_jobs : std::vector<api::JobStatus>();
        job_set_controller();
        if (written == 0 && (!cluster.job_set || cluster.job_set->replicated_jobs == counts)) return;
    }
    FAIL("it never settles: " << ending());
}

std::string Story::ending() const {
    if (!cluster.job) return cluster.job_set ? "no TrainJob, a JobSet" : "nothing is left";
    const std::string job_set = !cluster.job_set            ? "no JobSet"
                                : !own_job_set(cluster)     ? "a foreign JobSet"
                                : cluster.job_set->finished ? "JobSet finished"
                                : cluster.job_set->suspend  ? "JobSet suspended"
                                                            : "JobSet runs";
    return text(cluster.job->conditions) + " | " + text(cluster.job->jobs_status) + " | " + job_set;
}

}  // namespace lifecycle
