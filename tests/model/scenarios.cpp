#include "scenarios.hpp"

#include <algorithm>

#include "acts.hpp"
#include "api/job_set.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

// Returns whether the scenario admits such a condition at any time.
bool expects(const Scenario& scenario, std::string_view reason) {
    const auto names = [&](const std::string& text) { return text.find(reason) != std::string::npos; };
    return scenario.may_be_refused || std::any_of(scenario.events.begin(), scenario.events.end(), names) ||
           std::any_of(scenario.ends.begin(), scenario.ends.end(), names);
}

// At the end, `jobsStatus` equals the JobSet's, or nothing is active.
std::string counts(const ApiModel& api) {
    const Stored* stored = api.find("trainjobs.trainer.kubeflow.org", the_job);
    if (!stored) return "";
    const api::TrainJob job = api::parse_train_job(stored->object);
    const Stored* set = api.find("jobsets.jobset.x-k8s.io", the_job);
    const api::JobSet job_set = set ? api::parse_job_set(set->object) : api::JobSet();
    const bool ours = set && job_set.meta.controller_uid == job.meta.uid;
    if (ours && !job_set.replicated_jobs.empty())
        return job.jobs_status == job_set.replicated_jobs ? "" : "its counts are not those of its JobSet";
    for (const api::JobStatus& count : job.jobs_status)
        if (count.active + count.ready + count.suspended > 0) return "it counts pods that are gone";
    return "";
}

// Errors that last are reported by `Created`. They stay there if the job meets a deadline, or is deleted,
// before a JobSet could be created; the story does not list that end again.
std::string without_lasting_errors(std::string end) {
    const std::string conditions = end.substr(0, end.find("; no JobSet"));
    const bool is_over = conditions.ends_with("(deleted)") || conditions.ends_with("DeadlineExceeded");
    if (conditions == end || !is_over) return end;
    for (const std::string_view error : {"?JobsBuildRetrying ", "?JobsCreationRetrying "})
        if (const std::size_t at = end.find(error); at != std::string::npos) end.erase(at, error.size());
    return end.starts_with("(deleted)") ? "no conditions " + end : end;
}

}  // namespace

Scenario prompt(Scenario scenario, std::chrono::seconds by) {
    scenario.when_unharmed = made_by(by);
    return scenario;
}

Scenario taken_over(Scenario scenario, std::chrono::seconds from) {
    scenario.served_from = from;
    return scenario;
}

Scenario refusable(Scenario scenario) {
    scenario.may_be_refused = true;
    return scenario;
}

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = [] {
        std::vector<Scenario> list;
        for (auto make :
             {beginnings_and_ends, runtimes, refusals, reuse, suspending, time_limits, run_policies, attempts,
              progress_deadlines, other_objects, takeovers, changes, queues, forgeries})
            for (Scenario& scenario : make()) list.push_back(std::move(scenario));
        return list;
    }();
    return all;
}

std::vector<std::string> run(const Scenario& scenario, World& world) {
    world.time.after(scenario.served_from, [&world] {
        for (int i = 0; i < world.fault.reconcilers; ++i) world.start_reconciler();
    });
    // Work that was due before their start is late.
    if (scenario.served_from > 0s) world.invariants.unharmed = false;
    for (const Scenario::Step& step : scenario.steps)
        if (step.at <= scenario.length) world.time.after(step.at, [&world, &step] { step.act(world); });
    const bool unharmed = world.is_unharmed();
    world.time.run_for(scenario.length);
    // A backoff under random faults may have reached its maximum.
    if (world.calm_down()) {
        for (const Scenario::Step& step : scenario.steps)
            if (step.at > scenario.length)
                world.time.after(step.at - scenario.length, [&world, &step] { step.act(world); });
        world.time.run_for(310s);
    }

    std::vector<std::string> wrong = world.invariants.complaints();
    const std::string end = summary(world.api, the_job);
    if (std::string fault = counts(world.api); !fault.empty()) wrong.push_back(std::move(fault));
    for (const std::string reason : {"JobsCreationFailed", "JobsBuildFailed"})
        if (world.invariants.events().contains(reason) && !expects(scenario, reason))
            wrong.push_back("the job was said to have " + reason);
    if (unharmed) {
        if (scenario.when_unharmed)
            if (std::string fault = scenario.when_unharmed(world); !fault.empty())
                wrong.push_back(std::move(fault));
        if (end != scenario.ends.front())
            wrong.push_back("though nothing failed, it ends in \"" + end + "\"");
        const std::set<std::string> expected(scenario.events.begin(), scenario.events.end());
        for (const std::string& event : expected)
            if (!world.invariants.events().contains(event)) wrong.push_back("there was no event " + event);
        for (const std::string& event : world.invariants.events())
            if (!expected.contains(event)) wrong.push_back("there was an event " + event);
    }
    const std::string listed = unharmed ? end : without_lasting_errors(end);
    // With two wrong clocks, a limit may end the job only later.
    if (std::find(scenario.ends.begin(), scenario.ends.end(), listed) == scenario.ends.end() &&
        !world.invariants.two_clocks_are_wrong)
        wrong.push_back("it ends in \"" + end + "\"");
    else if (scenario.check && !world.invariants.two_clocks_are_wrong)
        if (std::string fault = scenario.check(world); !fault.empty()) wrong.push_back(std::move(fault));

    // Each process tells of a deletion that is blocked.
    if (end.find("; ending;") != std::string::npos) return wrong;
    // A settled job stays unchanged, also for a new reconciler. A blocked job is retried in vain.
    const bool refused = end.find("-JobsCreationFailed") != std::string::npos;
    const std::uint64_t changes = world.changes_stored();
    const int writes = world.invariants.writes();
    world.kill_reconcilers();
    world.forgo_fault();
    world.start_reconciler();
    // An elected reconciler waits until the lease of its predecessor has expired.
    world.time.run_for(world.fault.elected ? 40s : 20s);
    // What was decided by a wrong clock may be decided again.
    if ((world.changes_stored() != changes || (!refused && world.invariants.writes() != writes)) &&
        !world.invariants.two_clocks_are_wrong)
        wrong.push_back("a settled job was written");
    return wrong;
}

}  // namespace model
