#include <algorithm>
#include <cstdio>

#include "api/hash.hpp"
#include "api/text.hpp"
#include "api/time.hpp"
#include "kube/manager/event_recorder.hpp"

namespace kube {
namespace {

// As in client-go: an event after a longer pause starts a new series.
constexpr std::chrono::minutes series_gap{6};
constexpr std::chrono::minutes patch_period{1};
// Limits memory.
constexpr std::size_t max_series = 4096;
// Limits of the API server's validation (pkg/apis/core/validation/events.go).
constexpr std::size_t max_note = 1024;
constexpr std::size_t max_word = 128;
constexpr std::size_t max_name = 253;
constexpr std::string_view controller = "trainer.kubeflow.org/trainjob-controller";

std::string cut(std::string_view text, std::size_t limit) {
    return std::string(api::first_bytes(text, limit));
}

// Hashes the fields that make two events equal. Among 4096 series a collision has a probability of about one
// in a trillion; the two would be counted as one.
std::uint64_t hash_of(const Regarding& regarding, const EventText& text) {
    const std::string all = regarding.uid + '\n' + regarding.kind + '\n' + to_string(regarding.key) + '\n' +
                            (text.warning ? "W" : "N") + '\n' + text.reason + '\n' + text.action + '\n' +
                            cut(text.note, max_note);
    return api::keyed_hash(all);
}

// Returns "<object>.<hex>", a DNS subdomain, as client-go.
std::string event_name(const std::string& object, MicroTime wall, unsigned sequence) {
    char suffix[40];
    std::snprintf(suffix, sizeof suffix, ".%llx%04x",
                  static_cast<unsigned long long>(wall.time_since_epoch().count()), sequence & 0xFFFF);
    std::string prefix = object.substr(0, max_name - std::string_view(suffix).size());
    while (prefix.ends_with('.') || prefix.ends_with('-')) prefix.pop_back();
    return prefix + suffix;
}

std::string event_namespace(const Regarding& regarding) {
    return regarding.key.ns.empty() ? "default" : regarding.key.ns;
}

api::Json reference(const Regarding& regarding) {
    api::Json tree = api::Json::object({{"apiVersion", regarding.api_version},
                                        {"kind", regarding.kind},
                                        {"name", regarding.key.name},
                                        {"uid", regarding.uid}});
    if (!regarding.key.ns.empty()) tree["namespace"] = regarding.key.ns;
    if (!regarding.resource_version.empty()) tree["resourceVersion"] = regarding.resource_version;
    return tree;
}

}  // namespace

EventSeries::EventSeries(std::string instance)
    : instance_(instance.empty() ? "signalbox" : cut(instance, max_word)) {}

std::optional<Request> EventSeries::fold(const Regarding& regarding, const EventText& text, SteadyTime now,
                                         MicroTime wall) {
    sweep(now);
    const std::string ns = event_namespace(regarding);
    const auto [at, is_new] = series_.try_emplace(hash_of(regarding, text));
    Series& series = at->second;
    if (is_new) {
        series = {.began = wall, .sequence = sequence_++, .last_seen = now, .last_sent = now};
    } else {
        ++series.count;
        series.last_seen = now;
        // The first repetition makes it a series at once; later counts may lag.
        if (series.count > 2 && now - series.last_sent < patch_period) return std::nullopt;
        series.last_sent = now;
    }
    const std::string name = event_name(regarding.key.name, series.began, series.sequence);
    const std::string time = format_micro_time(wall);
    const std::string seconds = api::format_time(std::chrono::floor<std::chrono::seconds>(wall));
    if (!is_new) {
        api::Json patch = api::Json::object(
            {{"count", series.count},
             {"lastTimestamp", seconds},
             {"series", api::Json::object({{"count", series.count}, {"lastObservedTime", time}})}});
        return merge_patch(resources::events, {ns, name}, std::move(patch), Unconditional());
    }
    const api::Json event =
        api::Json::object({{"apiVersion", "v1"},
                           {"kind", "Event"},
                           {"metadata", api::Json::object({{"name", name}, {"namespace", ns}})},
                           {"eventTime", time},
                           {"firstTimestamp", seconds},
                           {"lastTimestamp", seconds},
                           {"count", 1},
                           {"reportingComponent", controller},
                           {"reportingInstance", instance_},
                           {"source", api::Json::object({{"component", controller}})},
                           {"type", text.warning ? "Warning" : "Normal"},
                           {"reason", cut(text.reason, max_word)},
                           {"action", cut(text.action.empty() ? text.reason : text.action, max_word)},
                           {"message", cut(text.note, max_note)},
                           {"involvedObject", reference(regarding)}});
    return create(resources::events, event);
}

void EventSeries::forget(const Regarding& regarding, const EventText& text) {
    series_.erase(hash_of(regarding, text));
}

void EventSeries::sweep(SteadyTime now) {
    const auto is_over = [&](const auto& entry) { return now - entry.second.last_seen >= series_gap; };
    if (now - swept_at_ >= patch_period || series_.size() >= max_series) {
        std::erase_if(series_, is_over);
        swept_at_ = now;
    }
    // Still too many: it is harmless to start new series.
    if (series_.size() >= max_series) series_.clear();
}

}  // namespace kube
