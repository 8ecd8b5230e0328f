#pragma once
#include <chrono>
#include <string>

namespace model {

/// The fault of one run. Writes are those of reconcilers without events, and reads are those without
/// watches; both are counted from 0 in the order of sending.
struct Fault {
    enum class Kind {
        none,
        crash,         ///< right after write `write` has been carried out; back after `downtime`
        late,          ///< the sender of write `write` dies; the write arrives while its successor runs
        slow,          ///< write `write` takes long to arrive, and its sender waits for the answer
        lose_answer,   ///< of write `write`: it was carried out, and the connection is lost
        lose_request,  ///< write `write` is not carried out, and the connection is lost
        refuse,        ///< write `write` is answered with `status`
        freeze,  ///< the watch of `resource` stops after its `change`th change, until write `write` is done;
                 ///< of two reconcilers only the first one's
        old_view,  ///< no watch but that of `resource` shows what came after write `change` was sent, until
                   ///< write `write` is done; of two reconcilers only the first one's
        drop,      ///< the watch of `resource` leaves out its `change`th change; there is a re-list a minute
                   ///< later
        relist,    ///< as freeze; then the history has expired, and the reflector lists again
        stop,      ///< the sender of write `write` stands still for `downtime`, and continues
        stop_at_read,  ///< the same for the sender of read `read`, whose answer waits
        wild_dates,    ///< from write `write` on, for `downtime`, answers are dated wrongly by `date_shift`
        lose_lease,    ///< write `write` takes long, and meanwhile its sender gets nothing through about the
                       ///< lease
        split          ///< the same, and a user deletes the lease: for a while two lead rightly
    };
    Kind kind = Kind::none;
    int write = -1;
    int read = -1;
    std::string resource = {};
    int change = -1;
    int status = 0;
    std::chrono::milliseconds downtime{1000};
    std::chrono::milliseconds delay{10'000};  ///< of a late or slow write
    int reconcilers = 1;
    bool elected = false;  ///< they use the lease; otherwise each of them leads
    /// Clocks of nodes with reconcilers are ahead and behind by this, in turn. It changes nothing.
    std::chrono::seconds clock_skew{0};
    std::chrono::seconds date_shift{0};

    std::string name() const;
    /// Two reconcilers of which only one leads are no fault either.
    bool is_none() const { return kind == Kind::none && (reconcilers == 1 || elected); }
};

}  // namespace model
