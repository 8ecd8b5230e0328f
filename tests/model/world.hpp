#pragma once
#include <memory>
#include <random>

#include "environment.hpp"
#include "fault.hpp"
#include "invariants.hpp"
#include "knowledge.hpp"
#include "kube/client/api_server.hpp"
#include "leadership.hpp"

namespace model {

class Process;
class OpenWatch;

/// The randomness of a run: without a seed, everything takes its usual time and nothing fails.
struct Chance {
    std::uint64_t seed = 0;
    bool random = false;
};

/// One cluster in virtual time: the API server, other controllers, and complete reconcilers except for TLS
/// and sockets. The same fault and the same seed give the same run, to the last write.
class World {
public:
    explicit World(Fault fault = {}, Chance chance = {});
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// The Lease of elected reconcilers.
    inline static const api::ObjectKey lease = {"system", "lease"};
    /// The Lease of the server of reports.
    inline static const api::ObjectKey reports_lease = {"system", "signalbox-progress"};

    /// Starts a reconciler.
    void start_reconciler();
    /// Kills all running ones, like SIGKILL, whatever they have under way.
    void kill_reconcilers();

    /// From now on, no write and no read gets the fault of the plan.
    void forgo_fault() { fault.write = fault.read = -1; }
    /// Ends random faults. Returns whether there might have been any.
    bool calm_down() { return std::exchange(chance_.random, false); }

    /// While part of the API server is out of order, returns its answer to a reconciler's request, or nullopt
    /// if the request gets through. Called for each request but those about the lease and watches.
    std::function<std::optional<Reply>(const kube::Request&)> out_of_order = {};

    /// Sends requests of users and of other controllers.
    Reply as_user(const kube::Request& request, const std::string& user = "kubectl");

    /// How far JobSet's controller usually lags behind.
    std::chrono::milliseconds job_set_lag{30};

    VirtualTime time = {};
    ApiModel api;
    GarbageCollector garbage_collector;
    JobSetController job_set_controller;
    PodGroupController pod_group_controller;
    Invariants invariants;
    Fault fault;

    int writes() const {
        return static_cast<int>(changes_at_writes_.size());
    }                                            ///< of reconcilers, without events
    int reads() const { return reads_; }         ///< of reconcilers, without watches
    bool happened() const { return happened_; }  ///< the fault
    /// Returns whether nothing fails, neither by a fault nor at random.
    bool is_unharmed() const { return fault.is_none() && !chance_.random; }
    /// Returns the number of changes so far, without those of the lease.
    std::uint64_t changes_stored() const { return changes_stored_; }
    /// Returns the number of changes of a watched resource since reconcilers run: by now, and when each write
    /// was sent.
    int changes(std::string_view resource) const;
    using Changes = std::map<std::string, int>;
    const std::vector<Changes>& changes_at_writes() const { return changes_at_writes_; }
    static std::vector<std::string> watched_resources();
    /// The writes with writer and seconds since the start, for failed runs.
    std::vector<std::string> log = {};

    std::chrono::milliseconds lag(int usual, int longest);
    /// The delay of a line of a watch: rarely the connection stands still for long.
    std::chrono::milliseconds watch_lag() { return chance(0.01) ? lag(2000, 30'000) : lag(4, 400); }
    bool chance(double probability);

    /// Returns the `Date` of an answer that is written now.
    api::Time date() const;

    // For processes.
    using Answer = std::function<void(api::Result<kube::Response>)>;
    void submit(Process& process, kube::Request request, Answer answer);
    void opened(OpenWatch& watch);
    void closed(OpenWatch& watch);
    /// Whether a watch of a reconciler may show a change now, must leave it out, or must wait.
    enum class Show { yes, never, later };
    Show show(int reconciler, const std::string& resource, int change);

private:
    struct Sent;
    void note(const std::string& line);
    void check_sending(const Process& process);
    void hit(const std::shared_ptr<Sent>& sent, std::chrono::milliseconds& delay);
    void note_read(Process& sender);
    void stop(Process& process, std::chrono::milliseconds duration);
    void falsify_dates(std::chrono::seconds by, std::chrono::milliseconds duration);
    void arrived(const std::shared_ptr<Sent>& sent);
    void answered(const std::shared_ptr<Sent>& sent, api::Result<kube::Response> result);
    void after_write(const std::shared_ptr<Sent>& sent);
    bool is_frozen(const std::string& resource, int number) const;
    void thaw();
    void disturb();
    void mishap();
    void spread(const Kind& kind, const api::ObjectKey& key, const api::Json& before, const api::Json& after);

    Chance chance_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::vector<OpenWatch*> watches_;
    std::map<std::string, int, std::less<>>
        first_change_;  // position in the history at the start of reconcilers
    const Process* acting_ = nullptr;
    std::map<int, int> under_way_;  // number of pending writes, by process
    std::map<int, std::vector<std::pair<api::Time, std::chrono::milliseconds>>> pauses_;  // by process
    std::map<int, kube::SteadyTime> quiet_until_;
    Leadership leadership_;
    std::map<int, kube::SteadyTime> no_lease_until_;  // earlier requests for it are lost
    std::uint64_t changes_stored_ = 0;
    std::vector<Changes> changes_at_writes_;
    std::chrono::seconds dates_wrong_by_{0};
    kube::SteadyTime dates_wrong_until_ = {};
    int reads_ = 0;
    bool happened_ = false;
    bool frozen_ = false;  // watches are frozen
    bool thawed_ = false;  // watches show everything again
};

}  // namespace model
