#include "progress/refusal_log.hpp"

#include "api/hash.hpp"
#include "recently_used.hpp"

namespace progress {

struct RefusalLog::Noted {
    RecentlyUsed<std::uint64_t, bool, std::hash<std::uint64_t>> table{most_remembered};
};

RefusalLog::RefusalLog(net::Log& log) : log_(log), noted_(std::make_unique<Noted>()) {}
RefusalLog::~RefusalLog() = default;

void RefusalLog::note(const api::ObjectKey& train_job, Outcome outcome, const std::string& pod,
                      const std::string& address, kube::SteadyTime now) {
    const std::uint64_t key = api::keyed_hash(to_string(train_job), to_string(outcome));
    if (noted_->table.find(key)) return;
    if (now >= minute_ + std::chrono::minutes(1)) {
        if (omitted_ > 0) log_.warn("further refusals of reports were not logged", {{"count", omitted_}});
        minute_ = now;
        lines_ = 0;
        omitted_ = 0;
    }
    if (++lines_ > lines_per_minute) {
        ++omitted_;
        return;
    }
    noted_->table.put(key, true);
    log_.warn("refused a report of progress",
              {{"trainjob", train_job}, {"outcome", to_string(outcome)}, {"pod", pod}, {"address", address}});
}

}  // namespace progress
