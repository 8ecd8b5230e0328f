#pragma once
#include <memory>
#include <random>

#include "fault.hpp"
#include "judge.hpp"
#include "knowledge.hpp"
#include "kube/api_server.hpp"
#include "leadership.hpp"
#include "surroundings.hpp"

namespace faults {

class Process;
class OpenWatch;

/// How chance enters a run: without a seed, everything takes its usual time and nothing fails by itself.
struct Chance {
    std::uint64_t seed = 0;
    bool random = false;
};

/// One cluster in virtual time: the API server, those around it, and reconcilers with everything that they
/// are made of but for TLS and sockets. The same fault and the same seed give the same run, to the last
/// write.
class World {
public:
    explicit World(Fault fault = {}, Chance chance = {});
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Where elected reconcilers keep who leads.
    inline static const api::ObjectKey lease = {"system", "lease"};

    /// Starts a reconciler.
    void start_reconciler();
    /// All that run: as SIGKILL would, whatever they have under way.
    void kill_reconcilers();

    /// From now on, nothing goes wrong by chance; whether anything might have.
    bool calm_down() { return std::exchange(chance_.random, false); }

    /// Requests of people and of other controllers.
    Reply as_user(const kube::Request& request, const std::string& user = "kubectl");

    Agenda agenda = {};
    ApiModel api;
    GarbageCollector garbage_collector;
    JobSetController job_set_controller;
    Judge judge;
    Fault fault;

    int writes() const {
        return static_cast<int>(changes_at_writes_.size());
    }                                            ///< of reconcilers, without events
    int reads() const { return reads_; }         ///< of reconcilers, without watches
    bool happened() const { return happened_; }  ///< the fault
    /// Nothing is to go wrong, neither on purpose nor by chance.
    bool is_unharmed() const { return fault.is_none() && !chance_.random; }
    /// Changes of anything but the lease, so far.
    std::uint64_t changes_stored() const { return changes_stored_; }
    /// How many changes of a watched resource there had been since reconcilers run: by now, and as each write
    /// was sent.
    int changes(std::string_view resource) const;
    using Changes = std::map<std::string, int>;
    const std::vector<Changes>& changes_at_writes() const { return changes_at_writes_; }
    static std::vector<std::string> watched_resources();
    /// What was written, by whom, and how many seconds after the start: to read when a run goes wrong.
    std::vector<std::string> log = {};

    std::chrono::milliseconds lag(int usual, int longest);
    /// Of a line of a watch: now and then the connection stands still for long.
    std::chrono::milliseconds watch_lag() { return chance(0.01) ? lag(2000, 30'000) : lag(4, 400); }
    bool chance(double probability);

    // For processes.
    using Answer = std::function<void(api::Result<kube::Response>)>;
    void submit(Process& process, kube::Request request, Answer answer);
    void opened(OpenWatch& watch);
    void closed(OpenWatch& watch);
    /// Whether a watch of a reconciler may show that change now, must leave it out, or has to wait.
    enum class Show { yes, never, later };
    Show show(int reconciler, const std::string& resource, int change);

private:
    struct Sent;
    void note(const std::string& line);
    void judge_sending(const Process& process);
    void hit(const std::shared_ptr<Sent>& sent, std::chrono::milliseconds& delay);
    void note_read(Process& sender);
    void stop(Process& process, std::chrono::milliseconds duration);
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
    std::map<std::string, int, std::less<>> first_change_;  // in the history, once reconcilers run
    const Process* acting_ = nullptr;
    std::map<int, int> under_way_;  // writes, by the number of their process
    std::map<int, std::vector<std::pair<api::Time, std::chrono::milliseconds>>> pauses_;  // by process
    std::map<int, kube::SteadyTime> quiet_until_;
    Leadership leadership_;
    std::map<int, kube::SteadyTime> no_lease_until_;  // what is sent about it before is lost
    std::uint64_t changes_stored_ = 0;
    std::vector<Changes> changes_at_writes_;
    int reads_ = 0;
    bool happened_ = false;
    bool frozen_ = false;  // what a watch shows
    bool thawed_ = false;  // and shows everything again
};

}  // namespace faults
