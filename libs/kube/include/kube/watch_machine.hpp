#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "api/json_reader.hpp"
#include "kube/clock.hpp"
#include "kube/request.hpp"

namespace kube {

/// What to list and watch.
struct Scope {
    Resource resource = {};
    std::string ns = {};  ///< empty = all namespaces
    std::string label_selector = {};
    bool metadata_only = false;  ///< objects come as PartialObjectMetadata
    /// What the sink has no use for, as decode_watch_line() takes it; pages have it nevertheless. The texts
    /// must outlive the watch.
    api::JsonPaths left_out = {};
};

/// "trainjobs.trainer.kubeflow.org", with " in ns" if it is limited; for people.
std::string to_string(const Scope& scope);

/// Where a reflector delivers. Called between two awaits, in order; must not throw.
class Sink {
public:
    virtual ~Sink() = default;
    /// The whole list follows as upserts, and then synced(). It may break off: then this comes again.
    virtual void listing() = 0;
    /// `size` is that of the object's text as the API server sent it.
    virtual void upsert(const api::ObjectKey& key, const std::string& resource_version, api::Json object,
                        std::size_t size = 0) = 0;
    /// `resource_version` is that of the deletion.
    virtual void removed(const api::ObjectKey& key, const std::string& resource_version) = 0;
    /// The list is complete: what it did not name is gone.
    virtual void synced(const std::string& resource_version) = 0;
    /// Nothing else has changed up to here.
    virtual void progressed(const std::string& resource_version) = 0;
};

/// Keeps a sink equal to a collection of the API server, whatever happens: says which request comes next and
/// takes what it brought. Streams the initial list (sendInitialEvents) and falls back for good to pages of
/// 500 where the server does not know that, and to smaller ones where objects are large. Sources: Kubernetes
/// API concepts, "Efficient detection of changes".
///
/// Usage: next(); then for Pause wait; for Fetch one page(); for Open opened(), line()... and closed(), or
/// failed() in place of any of these.
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

    /// `jitter` in [0, 1) shapes watch timeouts (5 to 10 minutes) and backoff (1 s doubling to 30 s, 50 to
    /// 100 %).
    Step next(SteadyTime now, double jitter);

    void page(std::string_view body, Sink& sink);
    void opened(Sink& sink);
    /// False: give the stream up and call next().
    bool line(std::string_view line, Sink& sink);
    /// The server ended the stream.
    void closed(SteadyTime now);
    /// The request was refused, or the connection broke.
    void failed(SteadyTime now, const api::Error& error);

    /// Has had one complete list.
    bool synced() const { return synced_; }
    /// Objects that lists and watches have brought so far, deleted ones among them; bookmarks bring none.
    std::uint64_t brought() const { return brought_; }
    /// Why there is no list or watch now; empty while it works.
    const std::optional<api::Error>& trouble() const { return trouble_; }

private:
    enum class Phase { stream, pages, watch };

    Request list_request() const;
    Request watch_request(double jitter) const;
    void list_again();
    void stumble(const api::Error& error);
    void retry_later(const api::Error& error);
    void stream_broke(SteadyTime now, const api::Error* error);
    void refused(const api::Error& error);
    void complete(const std::string& resource_version, Sink& sink);

    Scope scope_;
    Phase phase_ = Phase::stream;
    bool can_stream_ = true;
    bool synced_ = false;
    std::uint64_t brought_ = 0;
    bool open_ = false;             // the stream
    SteadyTime opened_at_ = {};     // when it was asked for
    std::string resource_version_;  // the watch goes on after this
    std::string continue_;          // the next page; empty = the first
    int page_size_ = first_page_size;
    int failures_ = 0;          // in a row
    bool unreachable_ = false;  // nobody answered the last time
    int broken_streams_ = 0;    // streamed lists that did not end, in a row
    bool pause_ = false;        // before the next request
    std::chrono::seconds retry_after_ = {};
    std::optional<api::Error> trouble_;
};

}  // namespace kube
