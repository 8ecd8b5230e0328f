#include "kube/watch/reflector.hpp"

#include <algorithm>

#include "net/process/turns.hpp"
#include "watch/error_transitions.hpp"

namespace kube {
namespace {

// Limits a burst of received lines, and of a few long ones, so that it does not delay other work of this
// thread. An object may have 1.5 MB.
constexpr std::size_t bytes_per_turn = 256 * 1024;
constexpr std::size_t bytes_of_a_turn_per_line = bytes_per_turn / 64;

}  // namespace

Reflector::Reflector(ApiServer& server, Clock& clock, Sink& sink, Scope scope, OnChange on_change)
    : server_(server),
      clock_(clock),
      sink_(sink),
      scope_(scope),
      on_change_(std::move(on_change)),
      machine_(scope),
      transitions_(std::make_unique<ErrorTransitions>(true)) {}

Reflector::~Reflector() = default;

Task<> Reflector::run() {
    while (true) {
        auto step = machine_.next(clock_.now(), clock_.jitter());
        if (const auto* pause = std::get_if<WatchMachine::Pause>(&step)) {
            co_await clock_.sleep_until(clock_.now() + pause->duration);
            continue;
        }
        if (auto* fetch = std::get_if<WatchMachine::Fetch>(&step)) {
            const auto page = co_await server_.send(std::move(fetch->request));
            if (page)
                machine_.page(page->body, sink_);
            else
                machine_.failed(clock_.now(), page.error());
        } else {
            co_await follow(std::move(std::get<WatchMachine::Open>(step).request));
        }
        report();
    }
}

Task<> Reflector::follow(Request request) {
    auto opened = co_await server_.watch(std::move(request));
    if (!opened) {
        machine_.failed(clock_.now(), opened.error());
        co_return;
    }
    const std::unique_ptr<Watch> watch = std::move(*opened);
    machine_.opened(sink_);
    for (std::size_t taken = 0;;) {
        report();
        const auto line = co_await watch->next();
        if (!line) {
            ++restarts_.broken;
            machine_.failed(clock_.now(), line.error());
            co_return;
        }
        if (line->empty()) {
            ++restarts_.ended;
            machine_.closed(clock_.now());
            co_return;
        }
        if (!machine_.line(*line, sink_)) {
            ++restarts_.broken;
            co_return;
        }
        taken += std::max(line->size(), bytes_of_a_turn_per_line);
        if (taken < bytes_per_turn) continue;
        taken = 0;
        co_await net::next_turn();
    }
}

bool Reflector::is_forbidden() const {
    const auto& error = machine_.error();
    return error && error->code == api::Errc::forbidden;
}

void Reflector::report() {
    const auto& last = machine_.error();
    if (!last && !machine_.synced()) return;
    const api::Error* error = last ? &*last : nullptr;
    if (transitions_->note(error) != ErrorTransitions::Transition::none && on_change_)
        on_change_(scope_, error);
}

std::vector<std::string> unsynced(std::span<const Reflector* const> reflectors) {
    const auto kind = [](const Reflector& reflector) { return to_string(reflector.scope().resource); };
    std::vector<std::string> reasons;
    for (const Reflector* late : reflectors) {
        if (late->synced()) continue;
        const bool others_go_on = std::any_of(
            reflectors.begin(), reflectors.end(),
            [&](const Reflector* other) { return other->synced() && kind(*other) == kind(*late); });
        if (!late->is_forbidden() || !others_go_on)
            reasons.push_back("no list yet of " + to_string(late->scope()));
    }
    return reasons;
}

}  // namespace kube
