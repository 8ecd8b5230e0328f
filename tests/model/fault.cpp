#include "fault.hpp"

namespace model {

std::string Fault::name() const {
    const std::string at = "write " + std::to_string(write);
    const std::string view = resource + " at change " + std::to_string(change);
    std::string with = reconcilers > 1 ? ", " + std::to_string(reconcilers) + " reconcilers" : "";
    if (elected) with += " of which one is elected";
    if (clock_skew.count() != 0) with += ", clocks wrong by " + std::to_string(clock_skew.count()) + " s";
    switch (kind) {
        case Kind::none: return "no fault" + with;
        case Kind::crash:
            return "crash after " + at + " for " + std::to_string(downtime.count() / 1000) + " s" + with;
        case Kind::late: return at + " late by " + std::to_string(delay.count() / 1000) + " s" + with;
        case Kind::slow: return at + " slow by " + std::to_string(delay.count() / 1000) + " s" + with;
        case Kind::lose_answer: return "answer lost of " + at + with;
        case Kind::lose_request: return "request lost of " + at + with;
        case Kind::refuse: return std::to_string(status) + " for " + at + with;
        case Kind::freeze: return "frozen until " + at + ": " + view + with;
        case Kind::old_view:
            return "all frozen until " + at + " as of write " + std::to_string(change) +
                   (resource.empty() ? "" : " but " + resource) + with;
        case Kind::drop: return "dropped: " + view + with;
        case Kind::relist: return "frozen until " + at + " and listed again: " + view + with;
        case Kind::stop:
            return "stopped at " + at + " for " + std::to_string(downtime.count() / 1000) + " s" + with;
        case Kind::stop_at_read:
            return "stopped at read " + std::to_string(read) + " for " +
                   std::to_string(downtime.count() / 1000) + " s" + with;
        case Kind::wild_dates:
            return "dates wrong by " + std::to_string(date_shift.count()) + " s from " + at + " for " +
                   std::to_string(downtime.count() / 1000) + " s" + with;
        case Kind::lose_lease: return "lease lost during " + at + with;
        case Kind::split: return "lease deleted during " + at + with;
    }
    return "";
}

}  // namespace model
