#include "controller/reconcile/coalesced_reads.hpp"

#include <map>
#include <optional>

#include "controller/reconcile/wait_list.hpp"

namespace controller {
namespace {

// Returns the answer; nullopt if there is no such object.
kube::Async<std::optional<api::Json>> ask(kube::ApiServer& server, kube::Request request,
                                          api::JsonPaths omit) {
    auto object = co_await kube::fetch(server, std::move(request), omit);
    if (object) co_return std::move(*object);
    if (object.error().code == api::Errc::not_found) co_return std::nullopt;
    co_return object.error();
}

}  // namespace

kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit) {
    return ask(server, kube::get(resource, key), omit);
}

/// One request, for all callers that came before it was sent.
struct CoalescedReads::Reading {
    std::optional<api::Result<Tree>> answer = {};
    bool is_under_way = false;
};

/// The callers with one target.
struct CoalescedReads::Line {
    int readings = 0;  ///< under way
    std::shared_ptr<Reading> next = std::make_shared<Reading>();
    int callers = 0;  ///< in this line, those that read included
};

struct CoalescedReads::State {
    ReadLimits limits;
    std::map<std::string, Line> lines = {};
    int readings = 0;  ///< under way, of all lines
    WaitList waiting = {};

    bool may_read(const Line& line, const Reading& reading) const {
        return !reading.is_under_way && line.readings < limits.of_one_target && readings < limits.in_all;
    }
};

/// A read of one of the callers. Its end notifies the waiting callers, also if the read is cut.
class CoalescedReads::Turn {
public:
    Turn(State& state, Line& line, Reading& reading) : state_(state), line_(line), reading_(reading) {
        ++state_.readings;
        ++line_.readings;
        reading_.is_under_way = true;
    }
    ~Turn() {
        --state_.readings;
        --line_.readings;
        reading_.is_under_way = false;
        state_.waiting.call_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    State& state_;
    Line& line_;
    Reading& reading_;
};

CoalescedReads::CoalescedReads(ReadLimits limits) : state_(std::make_shared<State>(State{limits})) {}

kube::Async<CoalescedReads::Tree> CoalescedReads::read(kube::ApiServer& server, kube::Resource resource,
                                                       api::ObjectKey key) {
    return read_in_turn(state_, server, kube::get(resource, key), managed_fields);
}

kube::Async<CoalescedReads::Tree> CoalescedReads::read(kube::ApiServer& server, kube::Request request,
                                                       api::JsonPaths omit) {
    return read_in_turn(state_, server, std::move(request), omit);
}

kube::Async<CoalescedReads::Tree> CoalescedReads::read_in_turn(std::shared_ptr<State> state,
                                                               kube::ApiServer& server, kube::Request request,
                                                               api::JsonPaths omit) {
    // The last one to leave removes the line: users can name any number of objects that do not exist.
    struct Visit {
        Visit(State& of, const std::string& target) : lines(of.lines), at(lines.try_emplace(target).first) {
            ++at->second.callers;
        }
        ~Visit() {
            if (--at->second.callers == 0) lines.erase(at);
        }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        std::map<std::string, Line>& lines;
        std::map<std::string, Line>::iterator at;
    };

    const Visit visit(*state, request.target);
    Line& line = visit.at->second;
    const std::shared_ptr<Reading> reading = line.next;
    while (!reading->answer) {
        if (!state->may_read(line, *reading)) {
            co_await state->waiting.wait();
            continue;
        }
        const Turn turn(*state, line, *reading);
        if (line.next == reading) line.next = std::make_shared<Reading>();
        kube::Request attempt = request;
        auto object = co_await ask(server, std::move(attempt), omit);
        const bool is_too_large = !object && object.error().code == api::Errc::too_large;
        // Each of the others reads for itself.
        if (is_too_large && !state->limits.shares_too_large) co_return object.error();
        if (!object)
            reading->answer = object.error();
        else
            reading->answer = *object ? std::make_shared<const api::Json>(std::move(**object)) : nullptr;
    }
    co_return *reading->answer;
}

}  // namespace controller
