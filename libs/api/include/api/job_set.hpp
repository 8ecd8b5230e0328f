#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/condition.hpp"
#include "api/meta.hpp"
#include "api/train_job.hpp"

namespace api {

/// What decisions need of a JobSet; the rest is read live when a pass needs it.
struct JobSet {
    ObjectMeta meta = {};
    bool suspend = false;
    bool applied_by_us = false;              ///< see is_applied_by_us()
    bool taken_over = false;                 ///< see is_taken_over()
    std::optional<Condition> finished = {};  ///< its Completed or Failed condition, once True
    std::vector<JobStatus> replicated_jobs = {};
    /// The first replicated job that may start by now and lacks Jobs, or Pods of them, by those counts. Empty
    /// if there is none, or what was parsed has no `spec.replicatedJobs`.
    std::string lacks_pods = {};

    bool belongs_to(const TrainJob& job) const {
        return !meta.controller_uid.empty() && meta.controller_uid == job.meta.uid;
    }
    bool any_active() const { return api::any_active(replicated_jobs); }
};

/// Whether an object carries api::applied_hash_annotation.
bool is_applied_by_us(const Json& object);

/// Whether what the Pods of a JobSet are made from may be another controller's: it does not carry that
/// annotation, or carries api::taken_over_annotation.
bool is_taken_over(const Json& job_set);

JobSet parse_job_set(const Json& object);

}  // namespace api
