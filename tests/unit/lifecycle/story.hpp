#pragma once
#include <functional>
#include <limits>

#include "objects.hpp"

namespace lifecycle {

/// A cluster as small as can be: one TrainJob, one JobSet with its controller, and a reconciler that may die
/// after any write. Time stands still unless a test moves `now`.
class Story {
public:
    explicit Story(Observed observed) : cluster(std::move(observed)) {}

    Observed cluster;
    api::Time now = start;
    Options options = {};
    Outcome acting = {};  ///< how building and applying goes
    std::vector<Event> events = {};
    std::vector<std::string> writes = {};
    int job_sets_made = 0;
    std::optional<std::chrono::seconds> requeue_after = {};
    /// The reconciler dies right after its n-th write and is started again.
    int dies_after = std::numeric_limits<int>::max();

    /// One pass, as the reconciler drives it.
    void pass();
    /// Passes and the JobSet controller's work, until a pass writes nothing.
    void settle();
    /// The conditions, `jobsStatus`, and what has become of the objects.
    std::string ending() const;

private:
    struct Death {};

    void wrote(std::string what);
    void act(const Decision& decision);
    void act_on(const Run& run);
    void store(const Conclusion& conclusion);
    void job_set_controller();
};

}  // namespace lifecycle
