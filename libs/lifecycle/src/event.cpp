#include "lifecycle/event.hpp"

#include "api/text.hpp"
#include "lifecycle/conditions.hpp"

namespace lifecycle {
namespace {

constexpr std::size_t max_reason_bytes = 128;

Event event(EventType type, std::string_view reason, std::string_view note) {
    return {.type = type,
            .reason = api::cut_bytes(reason, max_reason_bytes),
            .note = api::cut_bytes(note, max_note_bytes)};
}

// A Warning is sent when a job fails, and when its objects cannot be created.
bool is_failure(const api::Condition& condition) {
    return condition.type == api::condition::failed ||
           (condition.type == api::condition::created && !condition.is_true());
}

bool says_the_same(const api::Condition& left, const api::Condition& right) {
    return left.status == right.status && left.reason == right.reason && left.message == right.message;
}

}  // namespace

std::string_view to_string(EventType type) { return type == EventType::warning ? "Warning" : "Normal"; }

Event normal_event(std::string_view reason, std::string_view note) {
    return event(EventType::normal, reason, note);
}

Event warning_event(std::string_view reason, std::string_view note) {
    return event(EventType::warning, reason, note);
}

std::vector<Event> condition_events(std::span<const api::Condition> before,
                                    std::span<const api::Condition> after) {
    std::vector<Event> events;
    for (const api::Condition& condition : after) {
        const api::Condition* old = api::find_condition(before, condition.type);
        if (!is_built_in(condition.type) || (old && says_the_same(*old, condition))) continue;
        if (is_open(condition) || condition.type == api::condition::stalled ||
            condition.type == api::condition::restarting)
            continue;
        events.push_back(event(is_failure(condition) ? EventType::warning : EventType::normal,
                               condition.reason, condition.message));
        events.back().needs_status = true;
    }
    return events;
}

}  // namespace lifecycle
