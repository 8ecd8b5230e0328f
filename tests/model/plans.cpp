#include "plans.hpp"

namespace model {

std::vector<Fault> plans(const World& recorded) {
    using What = Fault::Kind;
    std::vector<Fault> all = {{.reconcilers = 2},
                              {.reconcilers = 2, .elected = true},
                              {.clock_skew = 24h},
                              {.clock_skew = -24h},
                              {.reconcilers = 2, .elected = true, .clock_skew = 24h}};
    for (int write = 0; write < recorded.writes(); ++write) {
        all.push_back({.kind = What::crash, .write = write});
        // Longer than every deadline.
        all.push_back({.kind = What::crash, .write = write, .downtime = 300s});
        all.push_back({.kind = What::crash, .write = write, .reconcilers = 2});
        all.push_back({.kind = What::stop, .write = write, .downtime = 12s, .reconcilers = 2});
        for (const What kind : {What::crash, What::stop, What::lose_lease, What::split}) {
            Fault fault = {.kind = kind, .write = write, .reconcilers = 2, .elected = true};
            if (kind == What::stop) fault.downtime = 30s;
            // Until another reconciler leads, or while one does not know of the other yet.
            fault.delay = kind == What::split ? 5s : 20s;
            all.push_back(std::move(fault));
        }
        for (const auto delay : {3s, 10s, 60s})
            all.push_back({.kind = What::late, .write = write, .delay = delay});
        for (const auto delay : {5s, 20s})
            all.push_back({.kind = What::slow, .write = write, .delay = delay});
        for (const auto shift : {30h, -30h})
            all.push_back({.kind = What::wild_dates, .write = write, .downtime = 30s, .date_shift = shift});
        all.push_back({.kind = What::lose_answer, .write = write});
        all.push_back({.kind = What::lose_request, .write = write});
        for (const int status : {409, 429, 500, 503})
            all.push_back({.kind = What::refuse, .write = write, .status = status});
        for (const auto& [resource, changes] : recorded.changes_at_writes()[static_cast<std::size_t>(write)])
            for (int change = 0; change < changes; ++change)
                for (const What kind : {What::freeze, What::relist})
                    all.push_back({.kind = kind, .write = write, .resource = resource, .change = change});
        // Several watches at once may lag, or all but one.
        for (int older = 0; older < write; ++older) {
            all.push_back({.kind = What::old_view, .write = write, .change = older});
            all.push_back({.kind = What::old_view,
                           .write = write,
                           .resource = "trainjobs.trainer.kubeflow.org",
                           .change = older,
                           .reconcilers = 2});
        }
    }
    // A read is old when its process continues; each of the two reads about as much as one alone.
    for (int read = 0; read < 2 * recorded.reads(); ++read)
        all.push_back({.kind = What::stop_at_read, .read = read, .downtime = 12s, .reconcilers = 2});
    for (const std::string& resource : World::watched_resources())
        for (int change = 0; change < recorded.changes(resource); ++change) {
            all.push_back({.kind = What::drop, .resource = resource, .change = change});
            all.push_back({.kind = What::freeze, .resource = resource, .change = change, .reconcilers = 2});
        }
    return all;
}

}  // namespace model
