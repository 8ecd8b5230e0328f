#include "kube/manager/event_recorder.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <deque>
#include <unordered_map>
#include <utility>

#include "kube/client/status.hpp"

namespace kube {
namespace {

// Each request takes a connection. Events must leave connections for reconciles.
constexpr int max_in_flight = 16;
constexpr std::size_t max_waiting = 1024;
// So a namespace with many events leaves places for others.
constexpr std::size_t max_waiting_of_namespace = max_waiting / 2;
// An error is over after this time without a failure. If every other event fails, it lasts.
constexpr std::chrono::seconds calm_time{30};
// Limit of the server's Retry-After. The refused event is dropped anyway.
constexpr std::chrono::seconds longest_wait{10};

}  // namespace

struct EventRecorder::State {
    struct Item {
        Request request = {};
        Regarding regarding = {};
        EventText text = {};
    };

    boost::asio::any_io_executor executor;
    ApiServer& server;
    Clock& clock;
    EventSeries folder;
    EventCallbacks callbacks;
    std::deque<Item> waiting = {};
    std::unordered_map<std::string, std::size_t> waiting_of = {};  // by namespace
    int in_flight = 0;
    bool is_failing = false;
    SteadyTime failed_at = {};

    // Sends until the queue is empty.
    static Task<> send_all(std::shared_ptr<State> state) {
        const Place place(*state);
        while (!state->waiting.empty()) {
            const Item item = state->take_first();
            const auto sent = co_await state->server.send(item.request);
            if (sent) {
                state->note_success();
                continue;
            }
            state->refused(item, sent.error());
            // Queued events must not load an API server that has sent a Retry-After.
            if (const auto wait = sent.error().retry_after)
                co_await state->clock.sleep_until(state->clock.now() +
                                                  std::min<std::chrono::seconds>(*wait, longest_wait));
        }
    }

    bool is_full(const std::string& ns) const {
        const auto of_it = waiting_of.find(ns);
        return waiting.size() >= max_waiting ||
               (of_it != waiting_of.end() && of_it->second >= max_waiting_of_namespace);
    }

    void add(Item item) {
        ++waiting_of[item.regarding.key.ns];
        waiting.push_back(std::move(item));
    }

    Item take_first() {
        Item item = std::move(waiting.front());
        waiting.pop_front();
        const auto of_it = waiting_of.find(item.regarding.key.ns);
        if (--of_it->second == 0) waiting_of.erase(of_it);
        return item;
    }

    void refused(const Item& item, const api::Error& error) {
        // An event that was not stored, or has expired since, cannot become a series.
        folder.forget(item.regarding, item.text);
        const bool expired = item.request.method == "PATCH" && error.code == api::Errc::not_found;
        drop(item.regarding, item.text, error, expired || is_namespace_terminating(error));
    }

    void drop(const Regarding& regarding, const EventText& text, const api::Error& error, bool everyday) {
        if (callbacks.dropped) callbacks.dropped(regarding, text, error);
        if (everyday) return;
        failed_at = clock.now();
        if (!std::exchange(is_failing, true) && callbacks.error) callbacks.error(&error);
    }

    void note_success() {
        if (!is_failing || clock.now() - failed_at < calm_time) return;
        is_failing = false;
        if (callbacks.error) callbacks.error(nullptr);
    }

    // Counts one request in flight until it is destroyed.
    struct Place {
        explicit Place(State& of) : state(of) {}
        ~Place() { --state.in_flight; }
        State& state;
    };
};

EventRecorder::EventRecorder(boost::asio::any_io_executor executor, ApiServer& server, Clock& clock,
                             std::string instance, EventCallbacks callbacks)
    : state_(std::make_shared<State>(State{.executor = std::move(executor),
                                           .server = server,
                                           .clock = clock,
                                           .folder = EventSeries(std::move(instance)),
                                           .callbacks = std::move(callbacks)})) {}

void EventRecorder::record(const Regarding& regarding, const EventText& text) {
    if (state_->is_full(regarding.key.ns)) {
        const api::Error error = {.code = api::Errc::unavailable,
                                  .message = "too many events are waiting for the API server"};
        state_->drop(regarding, text, error, false);
        return;
    }
    auto request = state_->folder.fold(regarding, text, state_->clock.now(), state_->clock.wall());
    if (!request) return;
    state_->add({std::move(*request), regarding, text});
    if (state_->in_flight >= max_in_flight) return;
    ++state_->in_flight;
    boost::asio::co_spawn(state_->executor, State::send_all(state_), boost::asio::detached);
}

}  // namespace kube
