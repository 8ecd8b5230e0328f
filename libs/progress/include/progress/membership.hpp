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

/// The Pod that an accepted token is bound to.
struct PodIdentity {
    std::string name = {};
    std::string uid = {};
};

/// Remembers what the API server said of tokens, for a token and a path together: their digests only.
/// Accepted ones drive out accepted ones, refused ones refused ones. Thread rule: one thread.
class TokenCache {
public:
    static constexpr std::size_t most_accepted = 16'384;
    static constexpr std::size_t most_refused = 1'024;
    static constexpr std::chrono::seconds refused_for{10};
    static constexpr std::chrono::minutes accepted_for{5};

    TokenCache();
    ~TokenCache();

    /// Returns the token's Pod; nullptr if it was not accepted lately. Valid until the next change.
    const PodIdentity* accepted(const net::Digest& digest, kube::SteadyTime now);
    bool refused(const net::Digest& digest, kube::SteadyTime now);
    /// Returns whether the token was accepted the last time, however long ago.
    bool was_accepted(const net::Digest& digest);

    /// `lifetime`: of the token, from now on.
    void accept(const net::Digest& digest, PodIdentity pod, std::chrono::seconds lifetime,
                kube::SteadyTime now);
    /// For `refused_for` from now on, whatever was accepted before.
    void refuse(const net::Digest& digest, kube::SteadyTime now);
    /// Forgets that the token was accepted.
    void forget(const net::Digest& digest);

    std::size_t size() const;  ///< accepted ones

private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

/// The TrainJob of a name, and its JobSet.
struct JobFacts {
    std::string uid = {};          ///< empty: there is no such TrainJob
    std::string job_set_uid = {};  ///< empty: none that the TrainJob controls
    kube::SteadyTime read_at = {};
};

/// A Pod that some JobSet made.
struct PodFacts {
    std::string job_set_uid = {};
    api::Time created = {};
    bool has_reported = false;
};

/// Reads the JobSet of the TrainJob's name (null: none), which counts if the TrainJob controls it.
JobFacts job_facts(const api::Json& train_job, const api::Json& job_set, kube::SteadyTime now);

/// Returns nullopt if the Pod is another one, or not the Pod of a Job of a JobSet. JobSet writes the label
/// over that of the Pod's template, so that neither a runtime nor a patch forges it.
std::optional<PodFacts> pod_facts(const api::Json& pod, const std::string& uid);

/// Remembers jobs and Pods as they were read, until they are not used for a while. Thread rule: one thread.
class Membership {
public:
    static constexpr std::chrono::minutes unused_for{10};
    /// Between two looks at one TrainJob for the sake of Pods that do not belong to it, or while it does not
    /// exist.
    static constexpr std::chrono::seconds between_looks{10};

    explicit Membership(std::size_t most_jobs);
    ~Membership();

    /// Returns nullptr if it has to be read. Valid until the next change, as in pod().
    const JobFacts* job(const api::ObjectKey& key, kube::SteadyTime now);
    /// Returns whether a Pod that does not fit is a reason to read the job again.
    bool may_look_again(const JobFacts& job, kube::SteadyTime now) const {
        return now >= job.read_at + between_looks;
    }
    PodFacts* pod(const std::string& uid, kube::SteadyTime now);

    void learn(const api::ObjectKey& key, JobFacts facts, kube::SteadyTime now);
    void learn(const std::string& pod_uid, PodFacts facts, kube::SteadyTime now);

private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

}  // namespace progress
