#pragma once
#include <chrono>
#include <string>

namespace faults {

/// What goes wrong in one run, once. Writes are those of reconcilers, events aside, and reads theirs but for
/// watches; both are counted from 0 as they are sent.
struct Fault {
    enum class Kind {
        none,
        crash,  ///< right after write `write` has been carried out; back after `downtime`
        late,   ///< the sender of write `write` dies as it sends it; it arrives when its successor is at work
        slow,   ///< write `write` takes long to arrive, and its sender waits for the answer
        lose_answer,   ///< of write `write`: it was carried out, and the connection is lost
        lose_request,  ///< write `write` is not carried out, and the connection is lost
        refuse,        ///< write `write` is answered with `status`
        freeze,  ///< the watch of `resource` stops after its `change`th change, until write `write` is done;
                 ///< of two reconcilers only the first one's
        old_view,  ///< no watch but that of `resource` shows what came after write `change` was sent, until
                   ///< write `write` is done; of two reconcilers only the first one's
        drop,      ///< the watch of `resource` leaves out its `change`th change; there is a re-list a minute
                   ///< later
        relist,    ///< as freeze; then the history is gone, and everything is listed again
        stop,  ///< the sender of write `write` stands still for `downtime`, and goes on as if nothing were
        stop_at_read,  ///< the sender of read `read` does, and its answer waits
        lose_lease,    ///< write `write` takes long, and meanwhile its sender gets nothing through about the
                       ///< lease
        split  ///< the same, and somebody deletes the lease: for a while two are right to believe they lead
    };
    Kind kind = Kind::none;
    int write = -1;
    int read = -1;
    std::string resource = {};
    int change = -1;
    int status = 0;
    std::chrono::milliseconds downtime{1000};
    std::chrono::milliseconds delay{10'000};  ///< of what is late or slow
    int reconcilers = 1;
    bool elected = false;  ///< they ask for the lease; otherwise each of them believes that it leads
    std::chrono::seconds clock_skew{0};  ///< how far the clocks of reconcilers are ahead and behind, in turn

    std::string name() const;
    /// Neither do two of whom only one leads harm each other.
    bool is_none() const {
        return kind == Kind::none && (reconcilers == 1 || elected) && clock_skew.count() == 0;
    }
};

}  // namespace faults
