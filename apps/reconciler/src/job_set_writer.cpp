#include "job_set_writer.hpp"

#include "api/notes.hpp"
#include "kube/job_requests.hpp"
#include "kube/without_object.hpp"
#include "lifecycle/quota.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/withdrawal.hpp"
#include "net/next_turn.hpp"
#include "object_writer.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/compare.hpp"
#include "runtime/live_defaults.hpp"

namespace reconciler {
namespace {

using api::Json;
using lifecycle::Done;
using lifecycle::Outcome;
using lifecycle::WriteFailed;

Outcome ended(Failure why) {
    Outcome outcome;
    outcome.result = std::move(why);
    return outcome;
}

Outcome written() {
    Outcome outcome;
    outcome.job_set_written = true;
    return outcome;
}

api::Error meanwhile(const char* what) { return {.code = api::Errc::conflict, .message = what}; }

// What is wanted is there but for what others have added, or as the cluster has made it.
Json as_it_fits(const Json& ours, const Json& live) {
    Json wanted = lifecycle::with_entries_of_others(ours, live);
    wanted = lifecycle::with_mark_of_takeover(std::move(wanted), live);
    return runtime::keeps_template(ours, live) ? runtime::with_live_template(wanted, live) : wanted;
}

// Others may add to a suspended JobSet, and resuming it withdraws nothing of ours.
std::vector<std::string> withdrawn_by(const Json& ours, const Json& live) {
    if (runtime::differs_in_suspend_only(ours, live)) return {};
    return lifecycle::withdrawn_fields(live, ours);
}

lifecycle::RefusedChange facts_of(const Json& live) {
    const api::JobSet facts = api::parse_job_set(live);
    return {.any_active = facts.any_active(),
            .has_run = lifecycle::may_have_run(live),
            .deletes_claims = lifecycle::deletes_volume_claims(live["spec"]),
            .has_finished = lifecycle::has_finished_jobs(facts)};
}

// Long enough for what is too long for `name`, and mostly the name of nothing.
std::string name_like(std::string name) {
    if (!name.empty()) name.back() = name.back() == 'x' ? 'y' : 'x';
    return name;
}

// Of what was tried: a name that is taken is looked at last, and some webhooks cannot be asked.
bool is_no_verdict(const api::Error& error) {
    return error.reason == "AlreadyExists" ||
           (error.http_status == 400 && error.message.find("does not support dry run") != std::string::npos);
}

}  // namespace

Outcome JobSetWriter::failed(api::Error error) const {
    return ended(WriteFailed{"JobSet " + to_string(key()), std::move(error)});
}

kube::Task<Outcome> JobSetWriter::create(const runtime::Built& built, const NeededObjects& found) {
    auto others = co_await apply_objects(server_, built, found, true);
    if (!std::holds_alternative<Done>(others)) co_return ended(std::move(others));
    auto wanted = co_await to_create(built);
    if (!wanted) co_return ended(lifecycle::ReadFailed{"volume claims", wanted.error()});
    kube::Request request = kube::apply_new(kube::resources::job_sets, std::move(*wanted));
    request = kube::without_object(std::move(request));
    const auto applied = co_await server_.send(std::move(request));
    if (!applied) co_return failed(applied.error());
    written_.job_set = kube::version_of(*applied);
    co_return written();
}

// JobSet takes a claim that is there already only as what it is. A claim of another size, or of others, is
// JobSet's to refuse.
kube::Async<Json> JobSetWriter::to_create(const runtime::Built& built) {
    Json wanted = runtime::with_applied_hash(built.objects.back().object, source_);
    Json* policies = wanted["spec"].find("volumeClaimPolicies");
    if (!policies) co_return wanted;
    for (Json& policy : policies->items()) {
        if (std::as_const(policy)["retentionPolicy"]["whenDeleted"].as_string() != "Retain") continue;
        for (Json& each : policy["templates"].items()) {
            const std::string name(std::as_const(each)["metadata"]["name"].as_string());
            const api::ObjectKey claim_key = {key().ns, name + "-" + key().name};
            const auto claim = co_await read(server_, kube::resources::volume_claims, claim_key);
            if (!claim) co_return claim.error();
            if (!*claim) continue;
            const Json& live = **claim;
            const bool made_for_it =
                live["metadata"]["labels"][api::job_set_name_label].as_string() == key().name;
            if (made_for_it && (lifecycle::had_job_set(job()) ||
                                runtime::is_contained(std::as_const(each)["spec"], live["spec"])))
                each["spec"] = live["spec"];
        }
    }
    co_return wanted;
}

kube::Task<Outcome> JobSetWriter::change(const runtime::Built& built, const NeededObjects& found) {
    auto seen = co_await read(server_, kube::resources::job_sets, key());
    if (!seen) co_return ended(lifecycle::ReadFailed{"JobSet " + to_string(key()), seen.error()});
    if (!*seen) co_return failed(meanwhile("it is gone; looking again"));
    Json live = std::move(**seen);
    const bool is_latest = view_.live == lifecycle::Live::all;
    // Decided on another version, perhaps of another JobSet: what it says of `suspend` may be over, and our
    // apply would say it again.
    if (api::parse_meta(live).resource_version != view_.observed.job_set->meta.resource_version) {
        if (is_latest) co_return failed(meanwhile("it has changed; looking again"));
        wants_live_view_ = true;
        co_return Outcome();
    }
    const Json ours = runtime::with_applied_hash(built.objects.back().object, source_);
    const Json wanted = as_it_fits(ours, live);
    const bool noted = lifecycle::has_withdrawn(live);
    const bool as_it_should_be = !noted && runtime::is_applied(wanted, live);
    std::vector<std::string> withdrawn;
    co_await net::next_turn();
    if (!as_it_should_be) withdrawn = withdrawn_by(ours, live);
    const bool replaces = noted || !withdrawn.empty();
    std::string why = withdrawn.empty() ? "something was withdrawn" : withdrawn.front() + " was withdrawn";
    // A JobSet that has to wait keeps the others waiting: they are for its Pods.
    if (replaces && api::parse_job_set(live).any_active())
        co_return ended(lifecycle::Waiting{std::move(why)});
    if (replaces && !is_latest) {
        wants_live_view_ = true;
        co_return Outcome();
    }
    auto others = co_await apply_objects(server_, built, found, true);
    if (!std::holds_alternative<Done>(others)) co_return ended(std::move(others));
    if (as_it_should_be) co_return Outcome();

    co_await net::next_turn();
    const Json noting = lifecycle::with_withdrawn(wanted, live, !withdrawn.empty());
    if (lifecycle::has_withdrawn(noting)) {
        if (!runtime::is_applied(noting, live)) {
            auto applied = co_await apply(noting, live);
            if (!applied) {
                const api::Error refusal = applied.error();
                co_return co_await refused(built, live, wanted, refusal);
            }
            live = std::move(*applied);
        }
        Outcome replaced = co_await replace_jobs(live, std::move(why));
        if (!std::holds_alternative<Done>(replaced.result)) co_return replaced;
    }
    const auto applied = co_await apply(wanted, live);
    if (applied) co_return written();
    const api::Error refusal = applied.error();
    co_return co_await refused(built, live, wanted, refusal);
}

// As it was seen. The answer is the JobSet then.
kube::Async<Json> JobSetWriter::apply(const Json& wanted, const Json& live) {
    Json sent = runtime::with_live_defaults(wanted, live);
    const api::ObjectMeta seen = api::parse_meta(live);
    sent["metadata"]["uid"] = seen.uid;
    sent["metadata"]["resourceVersion"] = seen.resource_version;
    kube::Request request = kube::apply(kube::resources::job_sets, sent, true);
    auto applied = co_await kube::fetch(server_, std::move(request));
    if (!applied) co_return applied.error();
    written_.job_set = api::parse_meta(*applied).resource_version;
    co_return std::move(*applied);
}

kube::Task<Outcome> JobSetWriter::replace_jobs(const Json& job_set, std::string why) {
    kube::Request request = kube::list_jobs(key());
    const auto jobs = co_await kube::fetch(server_, std::move(request));
    if (!jobs) co_return ended(lifecycle::ReadFailed{"Jobs of JobSet " + to_string(key()), jobs.error()});
    const auto found = lifecycle::jobs_to_replace(job_set, (*jobs)["items"].items());
    for (const api::ObjectMeta& job : found.remove) {
        // What runs by now, or has finished, stays.
        const kube::Preconditions as_seen = {.uid = job.uid, .resource_version = job.resource_version};
        kube::Request removal =
            kube::remove(kube::resources::jobs, job.key(), kube::Propagation::background, as_seen);
        const auto removed = co_await server_.send(std::move(removal));
        if (!removed && removed.error().code != api::Errc::not_found)
            co_return ended(
                WriteFailed{"Job " + to_string(job.key()), removed.error(), lifecycle::Write::remove});
    }
    if (found.settled) co_return Outcome();
    co_return ended(lifecycle::JobsReplaced{std::move(why), !found.remove.empty()});
}

kube::Task<Outcome> JobSetWriter::refused(const runtime::Built& built, const Json& live, const Json& wanted,
                                          const api::Error& told) {
    if (!lifecycle::refuses_immutable_field(told)) co_return failed(told);
    api::Error refusal = told;
    // The server's words are the whole list of replicated jobs.
    if (std::string field = runtime::changed_fixed_field(wanted, live); !field.empty()) {
        refusal.field = std::move(field);
        refusal.message = "must not change in a JobSet";
    }
    const lifecycle::Recreation verdict = lifecycle::recreation(facts_of(live));
    switch (verdict) {
        case lifecycle::Recreation::wait: co_return ended(lifecycle::Waiting{api::describe(refusal)});
        case lifecycle::Recreation::recreate: break;
        case lifecycle::Recreation::loses_claims:
        case lifecycle::Recreation::loses_work: co_return failed(lifecycle::cannot_take(verdict, refusal));
    }
    if (view_.live == lifecycle::Live::all) co_return co_await recreate(built, live, refusal);
    wants_live_view_ = true;
    co_return Outcome();
}

kube::Task<Outcome> JobSetWriter::recreate(const runtime::Built& built, const Json& live,
                                           const api::Error& refusal) {
    // The note of how often has to outlive the JobSet, and us.
    const api::ObjectKey snapshot = snapshot_key(key());
    const std::string map_name = "ConfigMap " + to_string(snapshot);
    const auto map = co_await read(server_, kube::resources::config_maps, snapshot, managed_fields);
    if (!map) co_return ended(lifecycle::ReadFailed{map_name, map.error()});
    if (!*map) co_return ended(WriteFailed{map_name, meanwhile("it is gone; looking again")});
    const std::int64_t generation = job().meta.generation;
    if (lifecycle::recreations(**map, generation) >= lifecycle::max_recreations)
        co_return failed(lifecycle::recreated_in_vain(refusal));
    const auto tried = co_await try_to_create(built);
    if (!tried) co_return failed(tried.error());
    const Json counted = lifecycle::with_one_more_recreation(**map, generation);
    kube::Request count = kube::replace(kube::resources::config_maps, counted);
    const auto noted = co_await server_.send(std::move(count));
    if (!noted) co_return ended(WriteFailed{map_name, noted.error()});

    // As it was seen: it may have been resumed meanwhile, and what runs is not to be deleted.
    const api::ObjectMeta seen = api::parse_meta(live);
    const kube::Preconditions as_seen = {.uid = seen.uid, .resource_version = seen.resource_version};
    kube::Request removal =
        kube::remove(kube::resources::job_sets, key(), kube::Propagation::foreground, as_seen);
    const auto removed = co_await server_.send(std::move(removal));
    if (!removed && removed.error().code != api::Errc::not_found)
        co_return ended(WriteFailed{"JobSet " + to_string(key()), removed.error(), lifecycle::Write::remove});
    co_return ended(lifecycle::JobSetRemoved{api::describe(refusal)});
}

// Whether it would be taken once this one is gone: names that are too long, quotas, policies.
kube::Async<> JobSetWriter::try_to_create(const runtime::Built& built) {
    auto wanted = co_await to_create(built);
    if (!wanted) co_return wanted.error();
    // Under another name, or the claims of this one would be in the way.
    (*wanted)["metadata"]["name"] = name_like(key().name);
    kube::Request attempt = kube::create(kube::resources::job_sets, *wanted);
    attempt = kube::without_object(kube::dry_run(std::move(attempt)));
    const auto tried = co_await server_.send(std::move(attempt));
    if (tried || is_no_verdict(tried.error()) || lifecycle::deletion_makes_room(tried.error()))
        co_return api::Result<>();
    api::Error error = tried.error();
    error.message = "the change needs a new JobSet, which would be refused: " + error.message;
    co_return error;
}

}  // namespace reconciler
