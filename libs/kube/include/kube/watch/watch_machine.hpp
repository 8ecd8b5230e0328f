#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "api/json.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/request.hpp"

namespace kube {

/// The collection to list and watch.
struct Scope {
    Resource resource = {};
    std::string ns = {};  ///< empty: all namespaces
    std::string label_selector = {};
    bool metadata_only = false;  ///< objects come as PartialObjectMetadata
    /// Paths that the sink does not need, as for decode_watch_line(). Pages of a list contain them all the
    /// same. The texts must outlive the watch.
    api::JsonPaths omit = {};
};

/// Returns "trainjobs.trainer.kubeflow.org", with " in ns" if it is limited to one namespace; for messages.
std::string to_string(const Scope& scope);

/// Receives the objects of a reflector. Called in order, without a suspension in between. Must not throw.
class Sink {
public:
    virtual ~Sink() = default;
    /// The calls of upsert() until end_replace() are a complete list. If it is interrupted, begin_replace()
    /// is called again.
    virtual void begin_replace() = 0;
    /// `size` is the size of the object's text from the API server, in bytes.
    virtual void upsert(const api::ObjectKey& key, const std::string& resource_version, api::Json object,
                        std::size_t size = 0) = 0;
    /// `resource_version` is that of the deletion.
    virtual void remove(const api::ObjectKey& key, const std::string& resource_version) = 0;
    /// The list is complete: objects that it did not contain do not exist.
    virtual void end_replace(const std::string& resource_version) = 0;
    /// There was no other change up to this resource version.
    virtual void bookmark(const std::string& resource_version) = 0;
};

/// Keeps a sink equal to a collection of the API server, without I/O: it returns the next request and takes
/// the response. It streams the initial list (sendInitialEvents). If the server does not support that, it
/// uses pages of 500 from then on, and smaller ones if objects are large. Source: Kubernetes API concepts,
/// "Efficient detection of changes".
///
/// Usage: call next(). For a Pause wait; for a Fetch call page() once; for an Open call opened(), line()
/// repeatedly, and closed(). Call failed() in place of any of these on an error.
class WatchMachine {
public:
    static constexpr int first_page_size = 500;

    explicit WatchMachine(Scope scope);

    struct Pause {
        std::chrono::milliseconds duration = {};
    };
    struct Fetch {
        Request request = {};
    };
    struct Open {
        Request request = {};
    };
    using Step = std::variant<Pause, Fetch, Open>;

    /// Returns the next step. `jitter` in [0, 1) varies watch timeouts (5 to 10 minutes) and backoff (1 s
    /// doubling to 30 s, of that 50 to 100 %).
    Step next(SteadyTime now, double jitter);

    void page(std::string_view body, Sink& sink);
    void opened(Sink& sink);
    /// Takes one line of the stream. Returns false if the caller must close the stream and call next().
    bool line(std::string_view line, Sink& sink);
    /// The server ended the stream.
    void closed(SteadyTime now);
    /// The request was refused, or the connection broke.
    void failed(SteadyTime now, const api::Error& error);

    /// Returns whether one list was complete.
    bool synced() const { return synced_; }
    /// Returns why there is no list or watch now; empty while it works.
    const std::optional<api::Error>& error() const { return error_; }

private:
    enum class Phase { stream, pages, watch };

    Request list_request() const;
    Request watch_request(double jitter) const;
    void list_again();
    void stumble(const api::Error& error);
    void shrink_pages();
    void retry_later(const api::Error& error);
    void stream_broke(SteadyTime now, const api::Error* error);
    void refused(const api::Error& error);
    void complete(const std::string& resource_version, Sink& sink);

    Scope scope_;
    Phase phase_ = Phase::stream;
    bool can_stream_ = true;
    bool synced_ = false;
    bool open_ = false;             // the stream is open
    SteadyTime opened_at_ = {};     // when the stream was requested
    std::string resource_version_;  // the watch resumes after this
    std::string continue_;          // token of the next page; empty: the first page
    int page_size_ = first_page_size;
    int failures_ = 0;          // in a row
    bool unreachable_ = false;  // the last request had no response
    int broken_streams_ = 0;    // incomplete streamed lists, in a row
    bool pause_ = false;        // wait before the next request
    std::chrono::seconds retry_after_ = {};
    std::optional<api::Error> error_;
};

}  // namespace kube
