#pragma once
#include "judges.hpp"
#include "kube/api_server.hpp"
#include "review_budget.hpp"
#include "runtime_view.hpp"

namespace webhook {

/// Finds what a TrainJob is judged by. All arguments must outlive it. Thread rule: one thread.
class FactFinder {
public:
    /// `budget` bounds the runtimes that are held while something else is looked up; nullptr: no bound.
    FactFinder(RuntimeView& runtimes, kube::ApiServer& server,
               const runtime::Pipeline& pipeline = runtime::default_pipeline(),
               ReviewBudget* budget = nullptr)
        : runtimes_(runtimes), server_(server), pipeline_(pipeline), budget_(budget) {}

    /// Without asking anybody; nullopt if that is not possible.
    std::optional<Facts> at_hand(const api::AdmissionRequest& request, const runtime::Lookups& wanted) const;

    /// Asks the API server for what is not here. What does not exist is absent; any other trouble is an
    /// error that names what could not be read. `request` must stay until the end.
    net::Async<Facts> look_up(const api::AdmissionRequest& request, runtime::Lookups wanted) const;

private:
    net::Async<std::shared_ptr<const api::Json>> live_runtime(const api::AdmissionRequest& request) const;
    net::Async<> look_up_needs(Facts& facts) const;

    RuntimeView& runtimes_;
    kube::ApiServer& server_;
    const runtime::Pipeline& pipeline_;
    ReviewBudget* budget_;
};

}  // namespace webhook
