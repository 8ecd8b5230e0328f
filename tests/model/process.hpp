#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <set>

#include "controller/reconcile/controller.hpp"
#include "controller/reconcile/reconciler.hpp"
#include "controller/reconcile/shared_objects.hpp"
#include "knowledge.hpp"
#include "kube/manager/event_recorder.hpp"
#include "kube/manager/leader_elector.hpp"
#include "kube/manager/leader_only.hpp"
#include "kube/watch/reflector.hpp"
#include "net/process/task_group.hpp"
#include "watching.hpp"
#include "world.hpp"

namespace model {

/// Virtual time for one process; a dead one gets no wake-ups.
class ProcessClock final : public kube::Clock {
public:
    ProcessClock(World& world, Process& process, std::chrono::seconds skew)
        : world_(world), process_(process), skew_(skew) {}

    kube::SteadyTime now() const override { return world_.time.now(); }
    kube::MicroTime wall() const override { return world_.time.wall() + skew_; }
    kube::Task<> sleep_until(kube::SteadyTime when) override;
    double jitter() override { return 0.5; }

private:
    World& world_;
    Process& process_;
    std::chrono::seconds skew_;
};

/// The lines on their way to a reflector.
class OpenWatch final : public kube::Watch {
public:
    OpenWatch(World& world, Process& process, const kube::Request& request);
    ~OpenWatch() override;

    kube::Async<std::string> next() override;

    /// Call it when something may have changed, or may be shown now.
    void look();
    /// Call it when the server's history has expired.
    void expire();
    const std::string& resource() const { return resource_; }

private:
    void close();
    void deliver();

    World& world_;
    Process& process_;
    std::string resource_;
    std::size_t next_change_ = 0;
    std::deque<WatchStart::Line> lines_;
    bool closed_ = false;
    bool planned_ = false;
    std::shared_ptr<boost::asio::steady_timer> changed_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The reconciler as in run.cpp, on the model instead of a connection. kill() stops it at once: its sent
/// requests may still arrive, and no answer comes back.
class Process final : public kube::ApiServer {
public:
    Process(World& world, int number, std::chrono::seconds clock_skew);
    ~Process() override;

    void kill() { alive_ = false; }
    /// Like SIGSTOP and SIGCONT: incoming data waits.
    void stop() { stopped_ = true; }
    void go_on();
    /// Like a change that concerns every job.
    void notify();
    bool alive() const { return alive_; }
    bool stopped() const { return stopped_; }
    int number() const { return number_; }
    Knowledge& knowledge() { return knowledge_; }
    const Knowledge& knowledge() const { return knowledge_; }
    boost::asio::io_context& context() { return context_; }
    /// Runs everything that is ready.
    void poll();

    std::set<std::string> expired = {};  ///< resources for which it got 410

    kube::Async<kube::Response> send(kube::Request request) override;
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override;

private:
    void follow(kube::Resource resource, const std::vector<kube::Partition>& partitions);
    void note(const api::Result<kube::Response>& answer, kube::SteadyTime sent);
    void note_lease();
    void elect();
    bool leading() const { return !elector_ || elector_->leading(); }

    World& world_;
    Knowledge knowledge_;
    int number_;
    bool alive_ = true;
    bool stopped_ = false;
    bool ending_ = false;
    boost::asio::io_context context_{1};
    ProcessClock own_clock_;
    kube::ServerClock clock_{own_clock_};
    std::optional<kube::SteadyTime> renewed_ = {};
    net::Log log_;
    net::Metrics metrics_;
    kube::LeaderOnly leader_only_;
    kube::EventRecorder events_;
    controller::Cache cache_;
    controller::SharedObjects shared_;
    controller::Reconciler reconciler_;
    controller::Controller controller_;
    std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
    std::unique_ptr<kube::LeaderElector> elector_;
    net::TaskGroup loops_;
    std::map<std::uint64_t, std::shared_ptr<boost::asio::steady_timer>> calls_;
    std::uint64_t calls_made_ = 0;
};

}  // namespace model
