#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "kube/client/clock.hpp"
#include "net/tls/digest.hpp"

namespace progress {

/// The Pod of an accepted token.
struct PodIdentity {
    std::string name = {};
    std::string uid = {};
};

/// Stores the results of TokenReviews, for a token and a path together, by their digest. Accepted ones
/// displace accepted ones, refused ones refused ones. Thread rule: one thread.
class TokenCache {
public:
    static constexpr std::size_t most_accepted = 16'384;
    static constexpr std::size_t most_refused = 1'024;
    static constexpr std::chrono::seconds refused_for{10};
    static constexpr std::chrono::minutes accepted_for{5};

    TokenCache();
    ~TokenCache();

    /// Returns the token's Pod; nullptr if it was not accepted recently. Valid until the next change.
    const PodIdentity* accepted(const net::Digest& digest, kube::SteadyTime now);
    bool refused(const net::Digest& digest, kube::SteadyTime now);
    /// Returns whether the token was accepted the last time, at any time.
    bool was_accepted(const net::Digest& digest);

    /// Stores an accepted token. `lifetime`: of the token, from now on.
    void accept(const net::Digest& digest, PodIdentity pod, std::chrono::seconds lifetime,
                kube::SteadyTime now);
    /// Stores a refused token for `refused_for`. Replaces an accepted one.
    void refuse(const net::Digest& digest, kube::SteadyTime now);
    /// Removes an accepted token.
    void forget(const net::Digest& digest);

    std::size_t size() const;  ///< accepted ones

private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

/// The TrainJob of a name, and its JobSet.
struct JobEntry {
    std::string uid = {};          ///< empty: there is no such TrainJob
    std::string job_set_uid = {};  ///< empty: none that the TrainJob controls
    kube::SteadyTime read_at = {};
};

/// A Pod of a JobSet.
struct PodEntry {
    std::string job_set_uid = {};
    api::Time created = {};
    bool has_reported = false;
};

/// Reads the JobSet of the TrainJob's name (null: none), which belongs to the TrainJob if that controls it.
JobEntry job_entry(const api::Json& train_job, const api::Json& job_set, kube::SteadyTime now);

/// Returns nullopt if the Pod is another one, or not the Pod of a Job of a JobSet. JobSet overwrites the
/// label of the Pod's template, so that neither a runtime nor a patch forges it.
std::optional<PodEntry> pod_entry(const api::Json& pod, const std::string& uid);

/// Stores jobs and Pods as they were read, until they have not been used for a while. Thread rule: one
/// thread.
class Membership {
public:
    static constexpr std::chrono::minutes unused_for{10};
    /// The time between two reads of one TrainJob because of Pods that do not belong to it, or while it does
    /// not exist.
    static constexpr std::chrono::seconds between_looks{10};

    explicit Membership(std::size_t most_jobs);
    ~Membership();

    /// Returns the job; nullptr if it has to be read. Valid until the next change, as pod().
    const JobEntry* job(const api::ObjectKey& key, kube::SteadyTime now);
    /// Returns whether a Pod that does not belong to the job is a reason to read the job again.
    bool may_read_again(const JobEntry& job, kube::SteadyTime now) const {
        return now >= job.read_at + between_looks;
    }
    PodEntry* pod(const std::string& uid, kube::SteadyTime now);

    void update(const api::ObjectKey& key, JobEntry entry, kube::SteadyTime now);
    void update(const std::string& pod_uid, PodEntry entry, kube::SteadyTime now);

private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

}  // namespace progress
