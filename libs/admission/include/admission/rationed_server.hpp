#pragma once
#include <memory>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"

namespace admission {

/// What reviews of unknown callers can make us ask the API server.
struct Ration {
    double per_second = 200;
    int at_once = 1'000;  ///< saved up while less was asked
};

/// Sends as many reads to `server` as the ration has. Beyond it, what was read in the last 5 s is answered
/// from memory, and what was not waits its turn; a read that would wait for more than 10 s is refused at once
/// with `unavailable`. So a flood of reviews costs the API server a bounded number of reads, and reviews of
/// objects that were just looked at cost it none. JobSets are always read: what is decided by them cannot be
/// taken back. Not for writes or watches. The clock must outlive it.
/// Thread rule: one thread.
std::unique_ptr<kube::ApiServer> make_rationed(std::unique_ptr<kube::ApiServer> server, kube::Clock& clock,
                                               const Ration& ration);

}  // namespace admission
