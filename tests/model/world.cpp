#include "world.hpp"

#include <algorithm>

#include "api/hash.hpp"
#include "api/names.hpp"
#include "process.hpp"
#include "watching.hpp"
#include "wire.hpp"

namespace model {
namespace {

constexpr std::string_view watched[] = {
    "trainjobs.trainer.kubeflow.org",        "jobsets.jobset.x-k8s.io",
    "trainingruntimes.trainer.kubeflow.org", "clustertrainingruntimes.trainer.kubeflow.org",
    "podgroups.scheduling.x-k8s.io",         "podgroups.scheduling.volcano.sh",
    "podgroups.scheduling.k8s.io",           "poddisruptionbudgets.policy",
    "networkpolicies.networking.k8s.io"};

constexpr std::string_view leases = "leases.coordination.k8s.io";
constexpr int most_writes = 150;
constexpr int writes_of_a_new_backoff = 10;
constexpr std::chrono::seconds pause{7};

api::Error lost() { return {.code = api::Errc::unavailable, .message = "connection lost"}; }

std::string without_query(const std::string& target) { return target.substr(0, target.find('?')); }

// Returns when the process last looked at a TrainJob. One look reads it and its JobSet at the same time, and
// is as old as the older answer.
api::Time last_look(const Knowledge& knowledge, const api::ObjectKey& job) {
    constexpr std::chrono::seconds longest_look{2};
    const api::Time train_job = knowledge.of(watched[0], job).read;
    const api::Time job_set = knowledge.of(watched[1], job).read;
    return job_set < train_job && train_job - job_set <= longest_look ? job_set : train_job;
}

}  // namespace

struct World::Sent {
    Process* from = nullptr;
    kube::Request request = {};
    Answer answer = {};
    int write = -1;
    ApiModel::Name name = {};
    Invariants::Meant meant = {};
    std::vector<Seen> seen = {};  // by the answer
    api::Time handled = {};
    kube::SteadyTime at = {};
    bool about_lease = false;
};

World::World(Fault plan, Chance chance)
    : api([this] { return time.wall_seconds(); }),
      garbage_collector(api, time, [this] { return lag(50, 3000); }),
      job_set_controller(api, time, [this] { return lag(static_cast<int>(job_set_lag.count()), 2000); }),
      pod_group_controller(api, time, [this] { return lag(40, 3000); }),
      invariants(api, time),
      fault(std::move(plan)),
      chance_(chance),
      random_(chance.seed) {
    // A run must be reproducible.
    api::fix_hash_key({1, 2});
    if (fault.kind == Fault::Kind::late) invariants.late_by = fault.delay;
    invariants.unharmed = is_unharmed();
    api.reviews_edits = true;
    api.mutate_create = PodGroupController::protect;
    api.changed = [this](const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                         const api::Json& after) { spread(kind, key, before, after); };
}

// Pending answers refer to timers of their processes, and these to all members.
World::~World() {
    time.forget();
    processes_.clear();
}

std::chrono::milliseconds World::lag(int usual, int longest) {
    if (!chance_.random) return std::chrono::milliseconds(usual);
    // Mostly short, rarely long.
    const bool slow = random_() % 8 == 0;
    return std::chrono::milliseconds(1 + random_() % (slow ? longest : std::max(usual * 4, 2)));
}

bool World::chance(double probability) {
    return chance_.random && static_cast<double>(random_() % 1'000'000) < probability * 1e6;
}

void World::start_reconciler() {
    // One clock is ahead, one behind.
    const auto clock_skew = processes_.size() % 2 == 0 ? fault.clock_skew : -fault.clock_skew;
    if (processes_.empty())
        for (const auto resource : watched)
            first_change_[std::string(resource)] = static_cast<int>(api.history(resource).size());
    processes_.push_back(std::make_unique<Process>(*this, static_cast<int>(processes_.size()), clock_skew));
    Process& process = *processes_.back();
    time.after(std::chrono::milliseconds(0), [&process] {
        if (process.alive()) process.poll();
    });
}

void World::kill_reconcilers() {
    for (const auto& process : processes_) process->kill();
}

Reply World::as_user(const kube::Request& request, const std::string& user) {
    kube::Request sent = request;
    const auto at = sent.target.find("fieldManager=trainer");
    if (at != std::string::npos) sent.target.replace(at, 20, "fieldManager=" + user);
    note(user + ": " + sent.method + " " + without_query(sent.target));
    return api.handle(sent, user);
}

void World::note(const std::string& line) {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.now() - VirtualTime::start);
    std::string stamp = std::to_string(since.count() + 100'000'000);
    log.push_back(stamp.substr(1, 5) + "." + stamp.substr(6) + " " + line);
}

int World::changes(std::string_view resource) const {
    const auto first = first_change_.find(resource);
    return static_cast<int>(api.history(resource).size()) -
           (first == first_change_.end() ? 0 : first->second);
}

std::vector<std::string> World::watched_resources() { return {std::begin(watched), std::end(watched)}; }

void World::spread(const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                   const api::Json& after) {
    if (kind.resource == leases) {
        if (key == reports_lease) invariants.lease_changed(after);
        return;
    }
    ++changes_stored_;
    invariants.changed(kind, key, before, after, acting_ != nullptr);
    garbage_collector.changed(before, after);
    job_set_controller.changed(kind, key, before, after);
    pod_group_controller.changed(kind, key, before, after);
    for (OpenWatch* watch : watches_)
        if (watch->resource() == kind.resource) watch->look();
}

void World::opened(OpenWatch& watch) { watches_.push_back(&watch); }
void World::closed(OpenWatch& watch) { std::erase(watches_, &watch); }

World::Show World::show(int reconciler, const std::string& resource, int change) {
    if (fault.reconcilers > 1 && reconciler > 0) return Show::yes;
    const auto first = first_change_.find(resource);
    if (first == first_change_.end() || thawed_) return Show::yes;
    const int number = change - first->second;
    const bool hides = fault.kind == Fault::Kind::drop;
    if (!(hides ? fault.resource == resource && number == fault.change : is_frozen(resource, number)))
        return Show::yes;
    // A frozen watch may prevent the write that would thaw it. Of two reconcilers, one without new events
    // contradicts the other all the time.
    const bool wakes = fault.kind == Fault::Kind::old_view;
    if (!std::exchange(frozen_, true)) {
        time.after(fault.reconcilers > 1 && !wakes ? 5s : 60s, [this] { thaw(); });
        if (wakes) disturb();
    }
    return hides ? Show::never : Show::later;
}

// Returns whether a watch stands still before that change.
bool World::is_frozen(const std::string& resource, int number) const {
    switch (fault.kind) {
        case Fault::Kind::freeze:
        case Fault::Kind::relist: return fault.resource == resource && number >= fault.change;
        case Fault::Kind::old_view:
            return fault.resource != resource && fault.change < writes() &&
                   number >= changes_at_writes_[static_cast<std::size_t>(fault.change)].at(resource);
        default: return false;
    }
}

// Enqueues every job again and again, so that reconciles use the shown state even after their own writes no
// longer defer them.
void World::disturb() {
    if (thawed_) return;
    processes_.front()->notify();
    time.after(4s, [this] { disturb(); });
}

void World::thaw() {
    if (thawed_) return;
    thawed_ = true;
    if (fault.kind == Fault::Kind::drop || fault.kind == Fault::Kind::relist) happened_ = true;
    const auto watches = watches_;
    if (fault.kind == Fault::Kind::relist || fault.kind == Fault::Kind::drop) api.compact(fault.resource);
    for (OpenWatch* watch : watches) {
        if (fault.kind == Fault::Kind::old_view || fault.kind == Fault::Kind::freeze)
            watch->look();
        else if (watch->resource() == fault.resource)
            watch->expire();
    }
}

void World::check_sending(const Process& process) {
    if (under_way_[process.number()] > 0) invariants.complain("two reconciles of one job at once");
    // The reconcile that got this answer may still write its result into the status.
    const kube::SteadyTime until = quiet_until_[process.number()];
    if (time.now() < until && time.now() > until - pause + 1s)
        invariants.complain("a write came though the API server had asked for a pause");
    // Backoff limits the writes of a run without progress, and each process begins with the shortest one. But
    // two reconcilers with different views may both write.
    const int most = most_writes + writes_of_a_new_backoff * process.number();
    if ((fault.reconcilers == 1 || fault.elected) && writes() == most)
        invariants.complain("there is no end of writes");
}

void World::submit(Process& process, kube::Request request, Answer answer) {
    auto sent = std::make_shared<Sent>(
        Sent{.from = &process, .request = std::move(request), .answer = std::move(answer), .at = time.now()});
    const std::string resource = kube::resource_of(sent->request.target);
    const bool event = resource == "events";
    sent->about_lease = resource == leases && ApiModel::name_of(sent->request.target).key != reports_lease;
    const bool write = sent->request.method != "GET" && !event && !sent->about_lease;
    if (fault.elected && !event && !sent->about_lease)
        if (auto wrong = leadership_.fault_of(process.number(), write, time.now()); !wrong.empty())
            invariants.complain(std::move(wrong));
    if (write) {
        check_sending(process);
        ++under_way_[process.number()];
        sent->write = writes();
        if (frozen_ && !thawed_ && (process.number() == 0 || fault.reconcilers == 1)) happened_ = true;
        Changes& now = changes_at_writes_.emplace_back();
        for (const auto each : watched) now[std::string(each)] = changes(each);
    }
    sent->name = ApiModel::name_of(sent->request.target);
    const Knowledge::Object known = process.knowledge().of(sent->name.resource, sent->name.key);
    sent->meant = {.uid = known.uid,
                   .version = known.version,
                   .looked = last_look(process.knowledge(), train_job_of(api, sent->name)),
                   .shown = process.knowledge().of(watched[0], train_job_of(api, sent->name)).shown,
                   .at = time.wall_seconds()};
    for (const auto& [since, duration] : pauses_[process.number()])
        if (since >= sent->meant.looked)
            sent->meant.stood_still += std::chrono::ceil<std::chrono::seconds>(duration);
    auto delay = lag(2, 1500);
    if (sent->write >= 0 && sent->write == fault.write) hit(sent, delay);
    if (!write && !event && !sent->about_lease) note_read(process);
    time.after(delay, [this, sent] { arrived(sent); });
}

// The write that gets the fault has been sent.
void World::hit(const std::shared_ptr<Sent>& sent, std::chrono::milliseconds& delay) {
    using What = Fault::Kind;
    Process& sender = *sent->from;
    const bool loses_lease = fault.kind == What::lose_lease || fault.kind == What::split;
    const bool delays = fault.kind == What::slow || fault.kind == What::late || loses_lease;
    if (delays) delay = fault.delay;
    if (delays || fault.kind == What::stop) happened_ = true;
    if (fault.kind == What::stop) stop(sender, fault.downtime);
    if (fault.kind == What::wild_dates) {
        happened_ = true;
        falsify_dates(fault.date_shift, fault.downtime);
    }
    if (loses_lease) no_lease_until_[sender.number()] = time.now() + 60s;
    if (fault.kind == What::split) {
        leadership_.deleted();
        kube::Request removal = kube::remove(kube::resources::leases, lease, kube::Propagation::background,
                                             kube::Unconditional());
        as_user(removal);
    }
    if (fault.kind == What::late) {
        sender.kill();
        time.after(fault.downtime, [this] { start_reconciler(); });
        note("crash");
    }
}

void World::note_read(Process& sender) {
    const int read = reads_++;
    if (fault.kind != Fault::Kind::stop_at_read || read != fault.read) return;
    happened_ = true;
    stop(sender, fault.downtime);
}

void World::stop(Process& process, std::chrono::milliseconds duration) {
    process.stop();
    pauses_[process.number()].emplace_back(time.wall_seconds(), duration);
    note("reconciler " + std::to_string(process.number()) + " stands still");
    time.after(duration, [this, &process] {
        note("reconciler " + std::to_string(process.number()) + " goes on");
        process.go_on();
    });
}

api::Time World::date() const {
    return time.wall_seconds() + (time.now() < dates_wrong_until_ ? dates_wrong_by_ : 0s);
}

// As by a proxy; what the API server stores is right.
void World::falsify_dates(std::chrono::seconds by, std::chrono::milliseconds duration) {
    dates_wrong_by_ = by;
    dates_wrong_until_ = time.now() + duration;
    invariants.two_clocks_are_wrong |= by > 0s && fault.clock_skew != 0s;
    note("dates of answers are wrong by " + std::to_string(by.count()) + " s");
}

void World::arrived(const std::shared_ptr<Sent>& sent) {
    const bool hit = sent->write >= 0 && sent->write == fault.write;
    const bool write = sent->request.method != "GET";
    if (sent->about_lease && time.now() < no_lease_until_[sent->from->number()])
        return answered(sent, lost());
    if (hit && fault.kind == Fault::Kind::lose_request) {
        happened_ = true;
        return answered(sent, lost());
    }
    if (hit && fault.kind == Fault::Kind::refuse) {
        happened_ = true;
        Reply refusal = failure(fault.status, "Test", "not now");
        if (fault.status == 429) {
            refusal.retry_after = static_cast<int>(pause.count());
            quiet_until_[sent->from->number()] = time.now() + pause;
        }
        return answered(sent, to_result(std::move(refusal), sent->request));
    }
    if (chance(0.02))
        return answered(sent, chance(0.5) ? api::Result<kube::Response>(lost())
                                          : to_result(failure(500, "InternalError", "no"), sent->request));
    if (const auto failed = out_of_order && !sent->about_lease ? out_of_order(sent->request) : std::nullopt) {
        answered(sent, to_result(*failed, sent->request));
        // What is to happen after this write happens.
        if (write) after_write(sent);
        return;
    }
    if (!sent->about_lease)
        invariants.asked(sent->from->number(), sent->request, sent->from->alive(), sent->meant);
    acting_ = sent->from;
    Reply reply = api.handle(sent->request);
    acting_ = nullptr;
    invariants.answered(sent->from->number(), sent->request, reply);
    if (reply.ok() || reply.status == 404) {
        if (!write || !sent->name.key.name.empty()) sent->seen = seen_now(api, sent->name);
        sent->handled = time.wall_seconds();
    }
    if (write && sent->about_lease && reply.ok()) leadership_.granted(sent->from->number(), sent->at);
    if (write && !sent->about_lease)
        note("reconciler " + std::to_string(sent->from->number()) + ": " + sent->request.method + " " +
             without_query(sent->request.target) + " -> " + std::to_string(reply.status));
    if (chance(0.02) || (hit && fault.kind == Fault::Kind::lose_answer)) {
        happened_ = happened_ || hit;
        answered(sent, lost());
    } else {
        answered(sent, to_result(std::move(reply), sent->request));
    }
    if (write && !sent->about_lease) after_write(sent);
}

void World::answered(const std::shared_ptr<Sent>& sent, api::Result<kube::Response> result) {
    if (result) result->date = date();
    time.after(lag(2, 1500), [this, sent, result = std::move(result)]() mutable {
        if (sent->write >= 0) --under_way_[sent->from->number()];
        if (!sent->from->alive()) return;
        if (result || result.error().code == api::Errc::not_found) {
            Knowledge& knowledge = sent->from->knowledge();
            for (const Seen& seen : sent->seen) knowledge.note(sent->name.resource, seen);
            if (sent->request.method == "GET")
                knowledge.read(sent->name.resource, sent->name.key, sent->handled);
            else if (result && sent->request.accept.empty())
                knowledge.show(sent->name.resource, sent->name.key, sent->handled);
        }
        sent->answer(std::move(result));
    });
}

void World::after_write(const std::shared_ptr<Sent>& sent) {
    const bool hit = sent->write >= 0 && sent->write == fault.write;
    if (hit && fault.kind == Fault::Kind::crash && !happened_) {
        happened_ = true;
        sent->from->kill();
        time.after(fault.downtime, [this] { start_reconciler(); });
        note("crash");
    }
    const bool freezes = fault.kind == Fault::Kind::freeze || fault.kind == Fault::Kind::relist ||
                         fault.kind == Fault::Kind::old_view;
    // Long enough for the reconciles that follow the write at once.
    if (hit && freezes) time.after(3s, [this] { thaw(); });
    mishap();
}

// A random fault of a process, or of what is between it and the API server.
void World::mishap() {
    if (chance(0.01)) falsify_dates(chance(0.5) ? 30h : -30h, lag(1000, 30'000));
    if (chance(0.03)) {
        const auto living =
            std::find_if(processes_.begin(), processes_.end(), [](const auto& p) { return p->alive(); });
        if (living == processes_.end()) return;
        (*living)->kill();
        time.after(lag(500, 20'000), [this] { start_reconciler(); });
        note("crash");
    }
    if (chance(0.02)) {
        const auto living = std::find_if(processes_.begin(), processes_.end(),
                                         [](const auto& p) { return p->alive() && !p->stopped(); });
        if (living != processes_.end()) stop(**living, lag(3000, 15'000));
    }
    if (chance(0.02)) {
        const std::string resource(watched[random_() % std::size(watched)]);
        time.after(lag(100, 5000), [this, resource] {
            api.compact(resource);
            const auto watches = watches_;
            for (OpenWatch* watch : watches)
                if (watch->resource() == resource) watch->expire();
        });
        note("history of " + resource + " is gone");
    }
}

}  // namespace model
