#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"

namespace kube {

/// The object of an event.
struct Regarding {
    std::string api_version = {};
    std::string kind = {};
    api::ObjectKey key = {};
    std::string uid = {};
    std::string resource_version = {};
};

struct EventText {
    bool warning = false;
    std::string reason = {};
    std::string action = "Reconcile";  ///< what the controller did, in one word
    std::string note = {};             ///< cut to 1024 bytes at a UTF-8 boundary
};

/// Makes requests that write events through core/v1, with the fields of both APIs: readers of
/// events.k8s.io/v1 see the same objects. Writers of events.k8s.io/v1 cannot set the times that clients of
/// core/v1 need (Kubeflow's Python SDK leaves out events without a firstTimestamp). Equal events within six
/// minutes become one series: a POST, then at most one PATCH of its count per minute.
class EventSeries {
public:
    /// `instance` names this process (the pod); at most 128 bytes are kept.
    explicit EventSeries(std::string instance);

    /// Returns the request for an event; nullopt if the event is only counted.
    std::optional<Request> fold(const Regarding& regarding, const EventText& text, SteadyTime now,
                                MicroTime wall);
    /// Forgets the series after a PATCH with response 404 (the event has expired), so that the next event is
    /// a POST.
    void forget(const Regarding& regarding, const EventText& text);

private:
    // Without the texts, which are most of an event: the name is computed again from `began` and `sequence`.
    struct Series {
        MicroTime began = {};
        unsigned sequence = 0;
        int count = 1;
        SteadyTime last_seen = {};
        SteadyTime last_sent = {};
    };
    void sweep(SteadyTime now);

    std::string instance_;
    std::unordered_map<std::uint64_t, Series> series_;  // by hash_of()
    SteadyTime swept_at_ = {};
    unsigned sequence_ = 0;
};

/// Callbacks of an EventRecorder, called on its thread.
struct EventCallbacks {
    /// Called for each dropped event, with the reason.
    std::function<void(const Regarding& regarding, const EventText& text, const api::Error& error)> dropped =
        {};
    /// Called once with the error when events cannot be stored, and with nullptr when they can again. Expired
    /// events and namespaces that are being deleted do not count as errors.
    std::function<void(const api::Error* error)> error = {};
};

/// Sends events, best effort: it never waits and drops what fails. At most 16 requests are in flight and 1024
/// are queued, half of them for one namespace; further events are dropped. The server must outlive the
/// executor's work. Thread rule: the one thread that runs `executor`.
class EventRecorder {
public:
    EventRecorder(boost::asio::any_io_executor executor, ApiServer& server, Clock& clock,
                  std::string instance, EventCallbacks callbacks = {});

    void record(const Regarding& regarding, const EventText& text);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace kube
