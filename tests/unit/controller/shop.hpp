#pragma once
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "controller/reconcile/controller.hpp"
#include "model_server.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;
using api::Json;
using kube::resources::cluster_training_runtimes;
using kube::resources::job_sets;
using kube::resources::train_jobs;

// Breaks down on request.
class FragileClock final : public kube::Clock {
public:
    explicit FragileClock(VirtualClock& clock) : clock_(clock) {}

    kube::SteadyTime now() const override {
        if (breakdowns > 0) {
            --breakdowns;
            ++broken_down;
            throw std::runtime_error("the clock is broken");
        }
        return clock_.now();
    }
    kube::MicroTime wall() const override { return clock_.wall() - behind; }
    kube::Task<> sleep_until(kube::SteadyTime when) override { return clock_.sleep_until(when); }
    double jitter() override { return 0; }

    std::chrono::microseconds behind{0};  // as one that has become less exact
    mutable int breakdowns = 0;           // to come
    mutable int broken_down = 0;          // so far

private:
    VirtualClock& clock_;
};

// A controller over the modelled API server, with the caches under the test's control.
struct Shop {
    boost::asio::io_context context = {};
    VirtualClock time{context};
    FragileClock clock{time};
    ModelServer server = {};
    std::chrono::milliseconds delay{0};  // of the API server's answers to slow requests
    std::function<bool(const kube::Request&)> is_slow = [](const kube::Request&) { return true; };
    std::function<bool(const kube::Request&)> hangs = [](const kube::Request&) { return false; };
    std::function<void(const kube::Request&, const kube::Response&)> on_answer = [](const kube::Request&,
                                                                                    const kube::Response&) {};
    int in_flight = 0;  // requests of reconciles
    int jobs_in_flight =
        0;  // those of them that are about a TrainJob itself, of which a reconcile has one at most
    std::string lines = {};
    kube::EventRecorder events{context.get_executor(), event_server_, time, "test"};
    net::Log log{net::LogLevel::warn, net::LogFormat::json, [this](std::string_view line) { lines += line; }};
    net::Metrics metrics = {};
    std::unique_ptr<controller::Controller> controller = {};
    kube::Namespaces namespaces;
    controller::Cache cache{[this](const api::ObjectKey& key, const controller::Change& change) {
                                controller->enqueue(key, change);
                            },
                            namespaces};
    std::function<void()> on_reconcile = [] {};
    controller::SharedObjects shared_{time};
    controller::ProgressSettings progress_;
    controller::Reconciler reconciler{gate_,
                                      cache,
                                      events,
                                      log,
                                      [this] {
                                          on_reconcile();
                                          return server.now;
                                      },
                                      {},
                                      {runtime::default_pipeline(), shared_},
                                      progress_};
    bool allowed = true;
    bool draining = false;
    std::optional<std::size_t> cut = {};    // reconciles, by a drain that is over
    std::optional<std::string> ended = {};  // what run() threw

    explicit Shop(kube::Namespaces of = {}, int concurrency = 2, controller::ProgressSettings progress = {})
        : namespaces(std::move(of)), progress_(std::move(progress)) {
        controller = std::make_unique<controller::Controller>(
            context.get_executor(), clock, cache, reconciler, metrics, log, [this] { return allowed; },
            controller::Controller::Limits{.concurrency = concurrency});
        server.put(cluster_training_runtimes, api::parse_json(R"({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "plain"},
            "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "base"}]}}}}}]}}}})")
                                                  .value());
        boost::asio::co_spawn(
            context, controller->run(),
            boost::asio::bind_cancellation_slot(stop_.slot(), [this](std::exception_ptr thrown) {
                ended = thrown ? net::what_of(thrown) : "returned";
            }));
    }
    ~Shop() {
        if (!draining) drain(0s);
        time.run_for(20s);
        CHECK(cut);
        stop();
        CHECK(ended);
    }

    // Cancels run().
    void stop() {
        stop_.emit(boost::asio::cancellation_type::terminal);
        settle();
    }

    void submit(const std::string& name, const std::string& ns = "ns") {
        Json job = api::parse_json(R"({"spec": {"runtimeRef": {"name": "plain"}}})").value();
        job["metadata"]["namespace"] = ns;
        job["metadata"]["name"] = name;
        server.put(train_jobs, job);
    }

    // Everything that is ready to run, and nothing that waits for time.
    void settle() { time.run(); }

    // Begins to drain; `cut` tells when it is done.
    void drain(std::chrono::seconds patience) {
        draining = true;
        boost::asio::co_spawn(context, controller->drain(patience),
                              [this](std::exception_ptr, std::size_t count) { cut = count; });
        settle();
    }
    bool has_job_set(const std::string& name) { return server.find(job_sets, {"ns", name}) != nullptr; }

private:
    // Between the reconciles and the server.
    class Gate final : public kube::ApiServer {
    public:
        explicit Gate(Shop& shop) : shop_(shop) {}
        kube::Async<kube::Response> send(kube::Request request) override {
            const Flight flight(shop_.in_flight);
            int others = 0;
            const bool is_about_job = request.target.find("/trainjobs/") != std::string::npos;
            const Flight of_job(is_about_job ? shop_.jobs_in_flight : others);
            const auto usual_delay = shop_.is_slow(request) ? shop_.delay : std::chrono::milliseconds(0);
            const auto answer_delay = shop_.hangs(request) ? std::chrono::milliseconds(24h) : usual_delay;
            if (answer_delay.count() > 0) co_await shop_.time.sleep_until(shop_.time.now() + answer_delay);
            const std::size_t most = request.max_answer;
            const kube::Request asked = request;
            auto answer = co_await shop_.server.send(std::move(request));
            if (answer && answer->body.size() > most)
                co_return api::Error{.code = api::Errc::too_large, .message = "the answer is too long"};
            if (answer) shop_.on_answer(asked, *answer);
            co_return std::move(answer);
        }
        kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
            return shop_.server.watch(std::move(request));
        }

    private:
        struct Flight {
            explicit Flight(int& of) : count(of) { ++count; }
            ~Flight() { --count; }
            int& count;
        };
        Shop& shop_;
    };

    Gate gate_{*this};
    ModelServer event_server_ = {};
    boost::asio::cancellation_signal stop_ = {};
};
