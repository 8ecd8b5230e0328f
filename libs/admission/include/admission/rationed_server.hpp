#pragma once
#include <memory>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"

namespace admission {

/// The rate of reads from the API server that reviews of unknown clients may cause.
struct Ration {
    double per_second = 200;
    int at_once = 1'000;  ///< saved up while there were fewer reads
};

/// Returns the ration of one of `threads` threads, so that together they keep `ration`.
Ration ration_of_thread(const Ration& ration, int threads);

/// Sends reads to `server` at a limited rate. Above it, an answer of the last 5 s is returned again, and
/// other reads wait their turn; a read that would wait for more than 10 s fails at once with `unavailable`.
/// So a flood of reviews causes a limited number of reads, and reviews of recently read objects cause none.
/// JobSets are always read, since decisions that depend on them cannot be undone. Not for writes or watches.
/// The clock must outlive it. Thread rule: one thread.
std::unique_ptr<kube::ApiServer> make_rationed(std::unique_ptr<kube::ApiServer> server, kube::Clock& clock,
                                               const Ration& ration);

}  // namespace admission
