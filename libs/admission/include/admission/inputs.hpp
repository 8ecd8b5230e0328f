#pragma once
#include "admission/review_turns.hpp"
#include "admission/reviews.hpp"
#include "admission/runtime_lister.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/namespaces.hpp"

namespace admission {

/// The part of a review that lookups depend on. Texts are cut at a length above that of any name.
struct Subject {
    runtime::RequiredInputs required = {};
    std::string kind = {};  ///< these three: of the object
    std::string ns = {};
    std::string name = {};
    bool is_update = false;
    bool is_large = false;  ///< it takes long to parse and to validate
    api::ObjectKey runtime = {};
    /// For the count of a runtime's TrainJobs.
    std::optional<api::RunPolicy> policy_of_all = {};
    api::Time now = {};
    std::size_t most_pages_of_jobs = 4;
    /// The TrainJob, of which only the identity, the runtimeRef, whether it has had a JobSet, and with which
    /// runtime it began are set.
    api::TrainJob job = {};
};
Subject subject_of(const api::AdmissionRequest& request, const runtime::RequiredInputs& required);

/// Reads the inputs of a TrainJob's review. All arguments must outlive it. Thread rule: one thread.
class InputReader {
public:
    /// Jobs are counted in `namespaces`. `turns` limit the memory of lookups, and how long they keep the
    /// thread busy; nullptr: no limit.
    InputReader(RuntimeLister& runtimes, kube::ApiServer& server,
                const runtime::Pipeline& pipeline = runtime::default_pipeline(),
                kube::Namespaces namespaces = {}, ReviewTurns* turns = nullptr)
        : runtimes_(runtimes),
          server_(server),
          pipeline_(pipeline),
          namespaces_(std::move(namespaces)),
          turns_(turns) {}

    /// Returns the number of values of the review's runtime; 0 if it is not in the cache, or not needed.
    std::size_t cached_values(const Subject& subject) const;

    /// Returns the inputs without a request; nullopt if that is not possible.
    std::optional<ReviewInputs> from_cache(const Subject& subject) const;

    enum class Runtime : std::uint8_t {
        known,  ///< from the watch, if it has one
        live
    };

    /// Reads from the API server what the cache lacks. A missing object is absent; any other failure is an
    /// error that names the object. `subject` must stay until the end. Takes the turn `large` if the review
    /// or its inputs are larger than usual: keep it until the verdict.
    net::Async<ReviewInputs> look_up_inputs(const Subject& subject, Runtime runtime, MaybeTurn& large) const;

private:
    using Tree = RuntimeLister::Tree;

    struct FoundJobSet {
        std::optional<api::JobSet> job_set = {};
        std::string_view loss_by_new_one = {};  ///< as of lifecycle::loss()
    };

    /// Whether the tree of an object stays in memory until the verdict.
    enum class Kept : bool { no, yes };

    net::Async<> take_large(MaybeTurn& large) const;
    net::Async<std::string> read_text(kube::Request request, MaybeTurn& large) const;
    net::Async<Tree> read(kube::Resource resource, api::ObjectKey key, Kept kept, MaybeTurn& large,
                          MaybeTurn& expensive) const;
    net::Async<FoundJobSet> read_job_set(api::ObjectKey key) const;
    net::Async<Tree> snapshot_of(const api::TrainJob& job, MaybeTurn& large) const;
    net::Async<Tree> watched_runtime(api::ObjectKey key, MaybeTurn& large) const;
    net::Async<Tree> live_runtime(const Subject& subject, MaybeTurn& large) const;
    runtime::RuntimeSuggestion suggest(const Subject& subject) const;
    net::Async<RuntimeUse> use_of_runtime(const Subject& subject) const;
    net::Async<> look_up_needs(ReviewInputs& inputs, MaybeTurn& large) const;

    RuntimeLister& runtimes_;
    kube::ApiServer& server_;
    const runtime::Pipeline& pipeline_;
    const kube::Namespaces namespaces_;
    ReviewTurns* const turns_;
};

}  // namespace admission
