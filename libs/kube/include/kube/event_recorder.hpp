#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "kube/api_server.hpp"
#include "kube/clock.hpp"

namespace kube {

/// The object that an event tells about.
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
    std::string action = "Reconcile";  ///< what was done, in one word
    std::string note = {};             ///< cut to 1024 bytes at a UTF-8 boundary
};

/// Turns events into writes of core/v1, with all that readers of either API look at: those of
/// events.k8s.io/v1 see the same objects, but its writers may not set the times that clients of core/v1 go by
/// (Kubeflow's Python SDK leaves out events without a firstTimestamp). Equal ones within six minutes become
/// one series: a POST, then at most one PATCH of its count a minute.
class EventFolder {
public:
    /// `instance` names this process (the pod); at most 128 bytes are kept.
    explicit EventFolder(std::string instance);

    /// nullopt: only counted.
    std::optional<Request> fold(const Regarding& regarding, const EventText& text, SteadyTime now,
                                MicroTime wall);
    /// A PATCH was answered with 404, the event has expired: start anew next time.
    void forget(const Regarding& regarding, const EventText& text);

private:
    // Without the texts, which are most of an event: the name is made again from when it began.
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

/// How an EventRecorder fares; its thread.
struct EventCallbacks {
    /// Each event that was dropped, and why.
    std::function<void(const Regarding& regarding, const EventText& text, const api::Error& error)> dropped =
        {};
    /// Why events cannot be stored, once, and nullptr when they can again. What is no trouble: an event
    /// that has expired, and a namespace that is being deleted.
    std::function<void(const api::Error* trouble)> trouble = {};
};

/// Sends events, best effort: never waits, drops what fails. Of those that
/// are not stored yet, 16 are on their way, 1024 wait, and further ones are dropped. Thread rule: used from
/// the one thread that runs `executor`. The server must outlive the executor's work.
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
