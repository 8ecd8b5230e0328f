#include <algorithm>
#include <charconv>
#include <optional>

#include "api/job_set.hpp"
#include "api/named_items.hpp"
#include "api/names.hpp"
#include "api/text.hpp"
#include "child_job.hpp"
#include "lifecycle/withdrawal.hpp"
#include "withdrawn_entries.hpp"

namespace lifecycle {
namespace {

// The share of the finalizers or the entry in the note of an event.
constexpr std::size_t max_text_bytes = 300;

// The Jobs of one replicated job.
struct Family {
    std::int64_t there = 0;
    std::int64_t finished = 0;
};
using Families = std::map<std::string, Family, std::less<>>;

// Returns a text about a replicated job whose Jobs JobSet has not all made yet; nullopt if there is none.
// JobSet makes the Jobs of a suspended JobSet that depend on no unfinished ones. It has made none if its
// status is empty: its controller has not looked at it yet.
std::optional<std::string> unmade(const api::Json& job_set, const Families& families) {
    if (job_set["status"]["replicatedJobsStatus"].empty()) return std::nullopt;
    const auto of = [&](std::string_view name) {
        const auto at = families.find(name);
        return at == families.end() ? Family() : at->second;
    };
    const api::Json& jobs = job_set["spec"]["replicatedJobs"];
    api::NamedItems jobs_by_name;
    const auto is_over = [&](const api::Json& dependency) {
        const std::string_view name = dependency["name"].as_string();
        const api::Json* job = jobs_by_name.find(jobs, name);
        return job && of(name).finished >= (*job)["replicas"].int_or(1);
    };
    for (const api::Json& job : jobs.items()) {
        const auto& after = job["dependsOn"].items();
        const std::string name(job["name"].as_string());
        const std::int64_t replicas = job["replicas"].int_or(1);
        if (std::all_of(after.begin(), after.end(), is_over) && of(name).there < replicas)
            return "JobSet to make the Jobs of \"" + name + "\", of which " + std::to_string(of(name).there) +
                   " of " + std::to_string(replicas) + " are there; see the events of the JobSet";
    }
    return std::nullopt;
}

// The number of rounds in which Jobs were made anew for one note, and the creation time of the newest Job
// that the last round deleted.
struct Rounds {
    int count = 0;
    api::Time until = {};

    bool knows(const api::ObjectMeta& job) const { return count > 0 && job.creation <= until; }
};

Rounds rounds_of(const api::Json& job_set) {
    const std::string_view note =
        job_set["metadata"]["annotations"][api::replacements_annotation].as_string();
    if (note.empty()) return {};
    const auto slash = std::min(note.find('/'), note.size());
    Rounds rounds;
    const auto read = std::from_chars(note.data(), note.data() + slash, rounds.count);
    const auto until = api::parse_time(note.substr(std::min(slash + 1, note.size())));
    // A note that was edited permits no further round.
    if (read.ec != std::errc() || rounds.count < 1 || !until) return {.count = max_replacements};
    rounds.until = *until;
    return rounds;
}

// An unfinished Job that has what was withdrawn.
struct Candidate {
    api::ObjectMeta meta = {};
    std::string entry = {};
    bool suspended = false;
};

std::string waits_for(const Candidate& candidate) {
    std::string text = "Job " + to_string(candidate.meta.key());
    if (!candidate.meta.deletion) return text + ", which is not suspended yet";
    text += ", which is being deleted with its Pods";
    std::string names;
    for (const std::string& finalizer : candidate.meta.finalizers)
        names += (names.empty() ? "" : ", ") + finalizer;
    return names.empty() ? text : text + " (finalizers: " + api::cut_bytes(names, max_text_bytes) + ")";
}

}  // namespace

JobsToReplace jobs_to_replace(const api::Json& job_set, const std::vector<api::Json>& jobs) {
    std::set<std::string> gone = noted_in(job_set);
    // An entry that others have added to the JobSet stays on its Jobs.
    for (const auto& [kept, text] : entries_of(job_set)) gone.erase(kept);
    const std::string uid = api::parse_meta(job_set).uid;
    std::vector<Candidate> candidates;
    Families families;
    for (const api::Json& job : jobs) {
        api::ObjectMeta meta = api::parse_meta(job);
        if (meta.controller_uid != uid) continue;
        const std::string_view name = job["metadata"]["labels"][api::replicated_job_label].as_string();
        Family& family = families[std::string(name)];
        ++family.there;
        if (is_finished(job)) {
            ++family.finished;
            continue;
        }
        for (auto& [hash, text] : entries_of(name, job["spec"]["template"]))
            if (gone.contains(hash)) {
                candidates.push_back({std::move(meta), text, job["spec"]["suspend"].bool_or(false)});
                break;
            }
    }

    const Rounds rounds = rounds_of(job_set);
    const auto missing = unmade(job_set, families);
    JobsToReplace found = {.settled = !missing, .waits_for = missing.value_or("")};
    api::Time newest = {};
    bool begins = false;
    for (Candidate& each : candidates) {
        const bool is_new = !rounds.knows(each.meta);
        if (is_new && rounds.count >= max_replacements && !each.meta.deletion) {
            found.kept = api::cut_bytes(each.entry, max_text_bytes) + " of Job " + to_string(each.meta.key());
            continue;
        }
        found.settled = false;
        newest = std::max(newest, each.meta.creation);
        // JobSet may still be making Jobs from its former template. The next round begins when all Jobs
        // exist.
        if (is_new && rounds.count > 0 && missing) continue;
        if (!each.suspended || each.meta.deletion) {
            found.waits_for = waits_for(each);
            continue;
        }
        begins = begins || is_new;
        found.remove.push_back(std::move(each.meta));
    }
    if (begins) found.replacements = std::to_string(rounds.count + 1) + "/" + api::format_time(newest);
    return found;
}

Event jobs_not_replaced(const std::string& kept) {
    return warning_event(
        event_reason::jobs_not_replaced,
        "Jobs were created again " + std::to_string(max_replacements) +
            " times without what was withdrawn, and the cluster gave it to them again: " + kept +
            ". The job goes on with it; look for a policy or webhook that changes Jobs");
}

api::Json with_replacements(api::Json job_set, const std::string& replacements) {
    job_set["metadata"]["annotations"][api::replacements_annotation] = replacements;
    return job_set;
}

}  // namespace lifecycle
