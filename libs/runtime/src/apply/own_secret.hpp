#pragma once
#include "runtime/build.hpp"

/// Secrets with the keys of one TrainJob, which are made once. They are not `immutable`: a kubelet reads an
/// immutable Secret once and never again while a Pod of its node mounts it, so after a deletion the Pods of a
/// new TrainJob of that name would get the keys of the old one
/// (https://kubernetes.io/docs/concepts/configuration/secret/#secret-immutable).
namespace runtime {

/// Returns the need for such a Secret of the TrainJob.
Need own_secret(const api::TrainJob& job, std::string name);

/// Returns the Secret with a note of its data, for check_own_secret().
api::Json with_data_note(api::Json secret);

/// Returns an error if the data of the Secret was changed since it was made: Pods that start now could not
/// reach those that run. No error if there is none, or if it has no note.
api::Result<> check_own_secret(const std::vector<api::Json>& observed, const Need& need);

}  // namespace runtime
