#pragma once
#include "judges.hpp"
#include "kube/api_server.hpp"
#include "kube/namespaces.hpp"
#include "review_budget.hpp"
#include "runtime_view.hpp"

namespace webhook {

/// Finds what a TrainJob is judged by. All arguments must outlive it. Thread rule: one thread.
class FactFinder {
public:
    /// Jobs are counted in `namespaces`. `budget` bounds the runtimes that are held while something else is
    /// looked up; nullptr: no bound.
    FactFinder(RuntimeView& runtimes, kube::ApiServer& server,
               const runtime::Pipeline& pipeline = runtime::default_pipeline(),
               kube::Namespaces namespaces = {}, ReviewBudget* budget = nullptr)
        : runtimes_(runtimes),
          server_(server),
          pipeline_(pipeline),
          namespaces_(std::move(namespaces)),
          budget_(budget) {}

    /// How many values the runtime has that the request is judged by; 0 if it is not here, or none is wanted.
    std::size_t values_at_hand(const api::AdmissionRequest& request, const runtime::Lookups& wanted) const;

    /// Without asking anybody; nullopt if that is not possible.
    std::optional<Facts> at_hand(const api::AdmissionRequest& request, const runtime::Lookups& wanted) const;

    enum class Runtime : std::uint8_t {
        known,  ///< from the watch, if it has one
        live
    };

    /// Asks the API server for what is not here. What does not exist is absent; any other trouble is an
    /// error that names what could not be read. `request` must stay until the end.
    net::Async<Facts> look_up(const api::AdmissionRequest& request, runtime::Lookups wanted,
                              Runtime runtime = Runtime::known) const;

private:
    net::Async<runtime::QueuedJobs> queued_jobs(const api::AdmissionRequest& request) const;
    net::Async<std::shared_ptr<const api::Json>> live_runtime(const api::AdmissionRequest& request) const;
    net::Async<> look_up_needs(Facts& facts) const;

    RuntimeView& runtimes_;
    kube::ApiServer& server_;
    const runtime::Pipeline& pipeline_;
    const kube::Namespaces namespaces_;
    ReviewBudget* budget_;
};

}  // namespace webhook
