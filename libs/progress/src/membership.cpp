#include "progress/membership.hpp"

#include "api/hash.hpp"
#include "api/meta.hpp"
#include "api/pod.hpp"
#include "recently_used.hpp"

namespace progress {
namespace {

using api::Json;
using kube::SteadyTime;

template <class Value>
struct Used {
    Value value;
    SteadyTime at;
};

// Returns the value unless it was unused for too long, and removes others that were.
template <class Table, class Key>
auto* use(Table& table, const Key& key, SteadyTime now) {
    while (const auto* oldest = table.oldest()) {
        if (oldest->second.at + Membership::unused_for > now) break;
        const auto gone = oldest->first;
        table.erase(gone);
    }
    auto* found = table.find(key);
    if (found) found->at = now;
    return found ? &found->value : nullptr;
}

}  // namespace

struct TokenCache::Memory {
    struct Accepted {
        PodIdentity pod;
        SteadyTime until;
    };
    RecentlyUsed<net::Digest, Accepted, net::DigestHash> accepted{most_accepted};
    RecentlyUsed<net::Digest, SteadyTime, net::DigestHash> refused{most_refused};  // time of expiry
};

TokenCache::TokenCache() : memory_(std::make_unique<Memory>()) {}
TokenCache::~TokenCache() = default;

const PodIdentity* TokenCache::accepted(const net::Digest& digest, SteadyTime now) {
    const auto* found = memory_->accepted.find(digest);
    return found && now < found->until ? &found->pod : nullptr;
}

bool TokenCache::refused(const net::Digest& digest, SteadyTime now) {
    const SteadyTime* until = memory_->refused.find(digest);
    return until && now < *until;
}

bool TokenCache::was_accepted(const net::Digest& digest) { return memory_->accepted.find(digest) != nullptr; }

void TokenCache::accept(const net::Digest& digest, PodIdentity pod, std::chrono::seconds lifetime,
                        SteadyTime now) {
    memory_->refused.erase(digest);
    const auto kept = std::min<std::chrono::seconds>(lifetime, accepted_for);
    memory_->accepted.put(digest, {.pod = std::move(pod), .until = now + kept});
}

void TokenCache::refuse(const net::Digest& digest, SteadyTime now) {
    memory_->refused.put(digest, now + refused_for);
}

void TokenCache::forget(const net::Digest& digest) { memory_->accepted.erase(digest); }

std::size_t TokenCache::size() const { return memory_->accepted.size(); }

JobEntry job_entry(const Json& train_job, const Json& job_set, SteadyTime now) {
    JobEntry entry = {.uid = api::parse_meta(train_job).uid, .read_at = now};
    const api::ObjectMeta of_job_set = api::parse_meta(job_set);
    if (!entry.uid.empty() && of_job_set.controller_uid == entry.uid) entry.job_set_uid = of_job_set.uid;
    return entry;
}

std::optional<PodEntry> pod_entry(const Json& pod, const std::string& uid) {
    const api::ObjectMeta meta = api::parse_meta(pod);
    PodEntry entry = {.job_set_uid = std::string(api::job_set_uid_of(pod)), .created = meta.creation};
    if (meta.uid != uid || entry.job_set_uid.empty()) return std::nullopt;
    return entry;
}

struct Membership::Memory {
    explicit Memory(std::size_t most_jobs) : jobs(most_jobs) {}

    RecentlyUsed<api::ObjectKey, Used<JobEntry>, std::hash<api::ObjectKey>> jobs;
    RecentlyUsed<std::string, Used<PodEntry>, api::KeyedHash> pods{TokenCache::most_accepted};
};

Membership::Membership(std::size_t most_jobs) : memory_(std::make_unique<Memory>(most_jobs)) {}
Membership::~Membership() = default;

const JobEntry* Membership::job(const api::ObjectKey& key, SteadyTime now) {
    const JobEntry* entry = use(memory_->jobs, key, now);
    if (!entry) return nullptr;
    // Without either, the job is being created or deleted.
    const bool is_complete = !entry->uid.empty() && !entry->job_set_uid.empty();
    return is_complete || !may_read_again(*entry, now) ? entry : nullptr;
}

PodEntry* Membership::pod(const std::string& uid, SteadyTime now) { return use(memory_->pods, uid, now); }

void Membership::update(const api::ObjectKey& key, JobEntry entry, SteadyTime now) {
    memory_->jobs.put(key, {.value = std::move(entry), .at = now});
}

void Membership::update(const std::string& pod_uid, PodEntry entry, SteadyTime now) {
    memory_->pods.put(pod_uid, {.value = std::move(entry), .at = now});
}

}  // namespace progress
