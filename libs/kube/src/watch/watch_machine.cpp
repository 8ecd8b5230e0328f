#include "kube/watch/watch_machine.hpp"

#include <algorithm>
#include <utility>

#include "api/json.hpp"
#include "kube/client/status.hpp"
#include "kube/watch/watch_decoder.hpp"

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds max_backoff{30};
// A stream that lived this long counts as healthy, whatever the cause of its end.
constexpr seconds healthy_life{1};
// A watch may be silent for its timeout and this long; then the connection counts as dead.
constexpr seconds slack{30};
// After this many refusals in a row the machine lists again.
constexpr int refusals_before_list = 4;
// After this many incomplete streamed lists the machine uses pages.
constexpr int broken_streams_before_pages = 3;
constexpr int max_page_size = 8'000;
// A page is parsed in one turn of the event loop. One object has at most 1.5 MiB.
constexpr std::size_t max_page_bytes = 4 * 1024 * 1024;
// A value takes up to 80 bytes in a tree. 500 usual objects have fewer values, and 4 MiB of "0," have eight
// times as many.
constexpr std::size_t max_page_values = 250'000;

std::string query(const Scope& scope, std::string_view first) {
    std::string text = path(scope.resource, {scope.ns, ""}) + "?" + std::string(first);
    if (!scope.label_selector.empty()) text += "&labelSelector=" + percent_encode(scope.label_selector);
    return text;
}

// Requests metadata only. A server without support for that responds with the plain type behind it.
std::string accept(const Scope& scope, std::string_view kind) {
    if (!scope.metadata_only) return {};
    return "application/json;as=" + std::string(kind) + ";g=meta.k8s.io;v=v1,application/json";
}

bool is_unreachable(const api::Error& error) {
    return error.code == api::Errc::unavailable && error.http_status == 0;
}

}  // namespace

std::string to_string(const Scope& scope) {
    return to_string(scope.resource) + (scope.ns.empty() ? "" : " in " + scope.ns);
}

WatchMachine::WatchMachine(Scope scope) : scope_(std::move(scope)) {}

WatchMachine::Step WatchMachine::next(SteadyTime now, double jitter) {
    if (std::exchange(pause_, false)) {
        const auto backoff = std::min(max_backoff, seconds(1 << std::clamp(failures_ - 1, 0, 5)));
        const auto shortened = milliseconds(static_cast<std::int64_t>(
            static_cast<double>(milliseconds(backoff).count()) * (0.5 + jitter / 2)));
        return Pause{std::max<milliseconds>(shortened, std::exchange(retry_after_, {}))};
    }
    if (phase_ == Phase::pages) return Fetch{list_request()};
    open_ = false;
    opened_at_ = now;
    return Open{watch_request(jitter)};
}

Request WatchMachine::list_request() const {
    std::string target = query(scope_, "limit=" + std::to_string(page_size_));
    if (!continue_.empty()) target += "&continue=" + percent_encode(continue_);
    return {.target = std::move(target),
            .accept = accept(scope_, "PartialObjectMetadataList"),
            .max_answer = max_page_bytes};
}

Request WatchMachine::watch_request(double jitter) const {
    const seconds timeout(300 + static_cast<int>(jitter * 300));
    std::string target = query(scope_, "watch=true&allowWatchBookmarks=true") +
                         "&timeoutSeconds=" + std::to_string(timeout.count());
    // A streamed list without a resourceVersion is a consistent read, never older than the sink.
    if (phase_ == Phase::stream)
        target += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    else
        target += "&resourceVersion=" + percent_encode(resource_version_);
    return {.target = std::move(target),
            .accept = accept(scope_, "PartialObjectMetadata"),
            .idle_timeout = timeout + slack};
}

void WatchMachine::page(std::string_view body, Sink& sink) {
    if (page_size_ > 1 && api::count_values(body) > max_page_values) return shrink_pages();
    auto page = decode_list_page(body);
    if (!page) {
        continue_.clear();
        return stumble(page.error());
    }
    if (continue_.empty()) sink.begin_replace();
    for (api::Json& item : page->items) {
        const api::Json& metadata = std::as_const(item)["metadata"];
        const api::ObjectKey key = {std::string(metadata["namespace"].as_string()),
                                    std::string(metadata["name"].as_string())};
        const std::string version(metadata["resourceVersion"].as_string());
        const std::size_t size = to_json(item).size();
        if (!key.name.empty()) sink.upsert(key, version, std::move(item), size);
    }
    continue_ = page->next;
    if (continue_.empty()) complete(page->resource_version, sink);
}

void WatchMachine::shrink_pages() { page_size_ = std::max(page_size_ / 4, 1); }

void WatchMachine::opened(Sink& sink) {
    open_ = true;
    error_.reset();
    if (phase_ == Phase::stream) sink.begin_replace();
}

bool WatchMachine::line(std::string_view line, Sink& sink) {
    auto event = decode_watch_line(line, scope_.omit);
    if (!event) {
        refused(event.error());
        return false;
    }
    const bool watching = phase_ == Phase::watch;
    switch (event->type) {
        case WatchEvent::Type::error: refused(event->error); return false;
        case WatchEvent::Type::bookmark:
            if (!watching && event->initial_events_end)
                complete(event->resource_version, sink);
            else if (watching)
                sink.bookmark(resource_version_ = std::move(event->resource_version));
            return true;
        case WatchEvent::Type::upsert:
            sink.upsert(event->key, event->resource_version, std::move(event->object), line.size());
            break;
        case WatchEvent::Type::removed: sink.remove(event->key, event->resource_version); break;
    }
    if (watching) {
        resource_version_ = std::move(event->resource_version);
        failures_ = 0;
    }
    return true;
}

void WatchMachine::closed(SteadyTime now) { stream_broke(now, nullptr); }

void WatchMachine::failed(SteadyTime now, const api::Error& error) {
    // A server that responds again may have restarted: count its errors from the first one.
    const bool unreachable = is_unreachable(error);
    if (std::exchange(unreachable_, unreachable) && !unreachable) failures_ = 0;
    // What the server sends is no watch, as in line(): the next time it may send the same.
    if (open_ && phase_ == Phase::watch && error.code == api::Errc::too_large) return refused(error);
    if (open_) return stream_broke(now, &error);
    if (phase_ == Phase::stream && error.code == api::Errc::invalid) {
        // The server does not support sendInitialEvents: it is older than 1.32, or the feature is off.
        can_stream_ = false;
        return list_again();
    }
    if (phase_ == Phase::pages && error.code == api::Errc::too_large && page_size_ > 1) return shrink_pages();
    if (phase_ == Phase::pages && error.code == api::Errc::gone) {
        // The pages expired during the list: fewer and larger ones are more likely to be in time.
        continue_.clear();
        page_size_ = std::min(page_size_ * 4, max_page_size);
        return retry_later(error);
    }
    refused(error);
}

void WatchMachine::stream_broke(SteadyTime now, const api::Error* error) {
    open_ = false;
    if (phase_ == Phase::stream) {
        if (++broken_streams_ >= broken_streams_before_pages) {
            can_stream_ = false;
            list_again();
        }
        const api::Error early = {.code = api::Errc::unavailable, .message = "the streamed list ended early"};
        return stumble(error ? *error : early);
    }
    // Watches end regularly; only one that ends at once must be reopened with a delay.
    if (now - opened_at_ >= healthy_life)
        failures_ = 0;
    else
        retry_later(error ? *error : api::Error());
}

// The server refused the request of this phase.
void WatchMachine::refused(const api::Error& error) {
    if (phase_ == Phase::watch) {
        const bool stale = error.code == api::Errc::gone || is_too_large_resource_version(error);
        if (stale || error.code == api::Errc::not_found ||
            (!is_unreachable(error) && failures_ + 1 >= refusals_before_list))
            list_again();
        if (stale) return retry_later(error);
    }
    stumble(error);
}

void WatchMachine::list_again() {
    phase_ = can_stream_ ? Phase::stream : Phase::pages;
    continue_.clear();
}

void WatchMachine::stumble(const api::Error& error) {
    error_ = error;
    retry_later(error);
}

void WatchMachine::retry_later(const api::Error& error) {
    ++failures_;
    pause_ = true;
    retry_after_ = error.retry_after.value_or(seconds(0));
}

void WatchMachine::complete(const std::string& resource_version, Sink& sink) {
    // `failures_` stays: only the following watch shows whether the list was of use.
    resource_version_ = resource_version;
    phase_ = Phase::watch;
    broken_streams_ = 0;
    page_size_ = std::min(page_size_, first_page_size);  // stays smaller if objects are large
    synced_ = true;
    error_.reset();
    sink.end_replace(resource_version);
}

}  // namespace kube
