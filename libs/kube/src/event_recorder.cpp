#include "kube/event_recorder.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace kube {
namespace {

constexpr int max_in_flight = 64;

}  // namespace

struct EventRecorder::State {
    boost::asio::any_io_executor executor;
    ApiServer& server;
    Clock& clock;
    EventFolder folder;
    OnDrop on_drop;
    int in_flight = 0;

    static Task<> send(std::shared_ptr<State> state, Request request, Regarding regarding, EventText text) {
        const auto sent = co_await state->server.send(std::move(request));
        --state->in_flight;
        if (sent) co_return;
        // What was not stored, or has expired since, cannot become a series.
        state->folder.forget(regarding, text);
        if (state->on_drop) state->on_drop(text, sent.error());
    }
};

EventRecorder::EventRecorder(boost::asio::any_io_executor executor, ApiServer& server, Clock& clock,
                             std::string instance, OnDrop on_drop)
    : state_(std::make_shared<State>(State{.executor = std::move(executor),
                                           .server = server,
                                           .clock = clock,
                                           .folder = EventFolder(std::move(instance)),
                                           .on_drop = std::move(on_drop)})) {}

void EventRecorder::record(const Regarding& regarding, const EventText& text) {
    if (state_->in_flight >= max_in_flight) {
        if (state_->on_drop) {
            state_->on_drop(text, {.code = api::Errc::unavailable,
                                   .message = "too many events are waiting for the API server"});
        }
        return;
    }
    auto request = state_->folder.fold(regarding, text, state_->clock.now(), state_->clock.wall());
    if (!request) return;
    ++state_->in_flight;
    boost::asio::co_spawn(state_->executor, State::send(state_, std::move(*request), regarding, text),
                          boost::asio::detached);
}

}  // namespace kube
