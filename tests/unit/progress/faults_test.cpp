// What becomes of reports when the API server, a server of reports or a TrainJob fails them.
#include <algorithm>

#include "cluster.hpp"

using namespace test;

namespace {

/// A clock that is ahead of another one.
class ClockAhead final : public kube::Clock {
public:
    ClockAhead(kube::Clock& right, std::chrono::seconds by) : right_(right), by_(by) {}
    kube::SteadyTime now() const override { return right_.now(); }
    kube::MicroTime wall() const override { return right_.wall() + by_; }
    net::Task<> sleep_until(kube::SteadyTime when) override { return right_.sleep_until(when); }
    double jitter() override { return right_.jitter(); }

private:
    kube::Clock& right_;
    std::chrono::seconds by_;
};

/// Another server of reports on the same API server, such as a second replica or the next process.
struct Replica {
    explicit Replica(Cluster& of, std::chrono::seconds ahead = 0s)
        : cluster(of),
          clock(of.clock, ahead),
          authenticator(of.server, of.server, clock, schedule, metrics, {.reviews_by_address = false}) {
        loops.start(writer.run(), [](const std::exception_ptr&) {});
    }
    ~Replica() {
        loops.cancel();
        cluster.clock.run();
    }

    /// Returns the status of an answer that arrives at once.
    int send(const std::string& token, int percentage) { return send(token, cluster.report(percentage)); }
    int send(const std::string& token, std::string body) {
        const auto request = std::make_shared<net::HttpRequest>(Cluster::post(token, std::move(body)));
        auto answer = handler.answer(*request);
        if (const auto* now = std::get_if<net::HttpResponse>(&answer)) return now->status;
        auto status = std::make_shared<int>(0);
        boost::asio::co_spawn(cluster.context, std::move(std::get<net::Task<net::HttpResponse>>(answer)),
                              [status, request](std::exception_ptr, const net::HttpResponse& response) {
                                  *status = response.status;
                              });
        cluster.clock.run();
        return *status;
    }

    Cluster& cluster;
    ClockAhead clock;
    net::Metrics registry = {};
    progress::Metrics metrics{registry};
    progress::Schedule schedule{{}};
    progress::PodAuthenticator authenticator;
    progress::StatusWriter writer{
        cluster.context.get_executor(), cluster.server, clock, schedule, metrics, cluster.log};
    progress::ReportHandler handler{authenticator, schedule, writer, clock, metrics, cluster.log};
    net::TaskGroup loops{cluster.context.get_executor()};
};

/// Makes `count` TrainJobs known, each with an accepted report that is not stored.
void add_pending(Cluster& cluster, int count) {
    for (int i = 0; i < count; ++i) {
        const api::ObjectKey key = {.ns = "ns", .name = "job-" + std::to_string(i)};
        cluster.add_job(key, "u" + std::to_string(i), "s" + std::to_string(i));
        const Json& object = cluster.object("trainjobs", key);
        cluster.schedule.update(key, progress::stored_status(object, 1000),
                                progress::moment_of(cluster.clock));
        const auto submitted =
            cluster.schedule.submit(key, {.report = {.percentage = 7, .updated = cluster.wall()}},
                                    progress::moment_of(cluster.clock));
        REQUIRE(submitted.reply == progress::Schedule::Reply::accepted);
    }
}

/// Returns how many reports are lost; nullopt if the writer is not done after 11 s.
std::optional<std::size_t> drain(Cluster& cluster) {
    const auto drained = std::make_shared<std::optional<std::size_t>>();
    boost::asio::co_spawn(cluster.context, cluster.writer.drain(5, 10s),
                          [drained](std::exception_ptr, std::size_t lost) { *drained = lost; });
    cluster.clock.run_for(11s);
    return *drained;
}

}  // namespace

TEST_CASE("no error of the API server counts as a refusal of a Pod, and the latest report is stored after it",
          "[faults]") {
    const std::pair<const char*, api::Error> faults[] = {
        {"away", {.code = api::Errc::unavailable, .message = "connection refused"}},
        {"401", refusal(401, api::Errc::unauthorized)},
        {"403", refusal(403, api::Errc::forbidden)},
        {"429", refusal(429, api::Errc::unavailable)},
        {"500", refusal(500, api::Errc::unavailable)},
        {"503", refusal(503, api::Errc::unavailable)},
        {"not JSON", {.code = api::Errc::internal, .message = "the answer is not JSON"}},
    };
    for (const auto& [name, error] : faults) {
        for (const std::string& request : {ask_review, get_job, get_job_set, get_pod, write_status}) {
            CAPTURE(name, request);
            Cluster cluster;
            cluster.errors[request] = error;
            const std::string token = cluster.token();
            for (int i = 1; i <= 3; ++i) {
                CHECK(cluster.send(Cluster::post(token, cluster.report(i)), 5s) == 500);
                CHECK(cluster.message() == "Internal error");
            }
            CHECK(cluster.trainer_status().is_null());
            cluster.errors.clear();
            // By then a write that was given up or backs off is due again.
            cluster.clock.run_for(30s);
            CHECK(cluster.send(token, cluster.report(4)) == 200);
            cluster.clock.run_for(5s);
            CHECK(cluster.trainer_status()["progressPercentage"] == Json(4));
        }
    }
}

TEST_CASE("a slow API server delays answers by some seconds at most, and loses nothing", "[faults]") {
    Cluster cluster;
    const std::string token = cluster.token();
    cluster.server.delay = 1s;
    // A TokenReview, three reads and a write, which the answer does not wait for longer than four seconds.
    CHECK(cluster.send(Cluster::post(token, cluster.report(1)), 6s) == 200);
    for (int i = 2; i <= 20; ++i) {
        CHECK(cluster.send(token, cluster.report(i)) == 200);
        cluster.clock.run_for(1s);
    }
    cluster.clock.run_for(6s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(20));
}

TEST_CASE("sixteen objects are read at a time, and a report waits two seconds for its turn", "[faults]") {
    Cluster cluster({.reviews_by_address = false});
    auto inner = cluster.server.answer;
    cluster.server.answer = [&](const kube::Request& request) {
        cluster.server.delay = request.method == "GET" ? 3s : 0s;
        return inner(request);
    };
    std::vector<Cluster::Answer> answers;
    for (int i = 0; i < 40; ++i) {
        const std::string number = std::to_string(i);
        const api::ObjectKey key = {.ns = "ns", .name = "job-" + number};
        cluster.add_job(key, "u" + number, "s" + number);
        cluster.add_pod(key, "p" + number, "s" + number);
        answers.push_back(
            cluster.start(Cluster::post(cluster.token("p" + number, key), cluster.report(1), key)));
        cluster.clock.run_for(10ms);
    }
    cluster.clock.run_for(2500ms);
    CHECK(std::ranges::count(cluster.requests, get_job) == 16);
    CHECK(std::ranges::count_if(
              answers, [](const auto& answer) { return *answer && (*answer)->status == 429; }) == 24);
    CHECK(cluster.metric("signalbox_progress_limited_total{limit=\"reads\"}") == 24);
    cluster.clock.run_for(10s);
    CHECK(std::ranges::count_if(
              answers, [](const auto& answer) { return *answer && (*answer)->status == 200; }) == 16);
}

TEST_CASE("a TrainJob that is replaced while the API server is away gets no report of its predecessor",
          "[faults]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(1s);
    CHECK(cluster.send(cluster.token(), cluster.report(50)) == 200);
    cluster.errors[write_status] = {.code = api::Errc::unavailable, .message = "connection refused"};
    cluster.clock.run_for(1min);
    cluster.add_job(job, "job-2", "set-2");
    cluster.errors.clear();
    cluster.clock.run_for(1min);
    CHECK(cluster.trainer_status().is_null());
    CHECK(cluster.metric("signalbox_progress_lost_total{reason=\"train_job_gone\"}") == 1);
}

TEST_CASE("a server whose reports are all refused does not vouch for them, until a minute after the last",
          "[faults]") {
    for (const auto& [status, code] :
         {std::pair(403, api::Errc::forbidden), std::pair(422, api::Errc::invalid)}) {
        Cluster cluster;
        cluster.begin();
        CHECK(cluster.writer.writes_work());
        cluster.clock.run_for(1min);
        cluster.errors[write_status] = refusal(status, code);
        cluster.send(cluster.token(), cluster.report(2));
        cluster.clock.run_for(1s);
        CHECK_FALSE(cluster.writer.writes_work());
        cluster.clock.run_for(progress::StatusWriter::failure_counts_for + 1s);
        CHECK(cluster.writer.writes_work());
    }
}

TEST_CASE("a killed server loses one interval at most, and the next one continues from there", "[faults]") {
    Cluster cluster;
    const std::string token = cluster.token();
    {
        Replica killed(cluster);
        for (int i = 1; i <= 18; ++i) {
            CHECK(killed.send(token, i) == 200);
            cluster.clock.run_for(1s);
            CHECK(cluster.trainer_status()["progressPercentage"].int_or(0) > i - 6);
        }
    }
    // The last write was at 15 s.
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(15));
    cluster.clock.run_for(1min);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(15));
    Replica next(cluster);
    CHECK(next.send(token, 19) == 200);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(19));
    CHECK(cluster.trainer_status()["lastProgressTime"] == Json(api::format_time(cluster.wall())));
}

TEST_CASE("two replicas that get the reports of one job in turns store the newest one", "[faults]") {
    Cluster cluster;
    Replica other(cluster);
    const std::string token = cluster.token();
    for (int i = 1; i <= 60; ++i) {
        CHECK((i % 2 == 0 ? other.send(token, i) : cluster.send(token, cluster.report(i))) == 200);
        cluster.clock.run_for(1s);
        CHECK(cluster.trainer_status()["progressPercentage"].int_or(0) > i - 8);
    }
    cluster.clock.run_for(10s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(60));
    // One write per interval and replica, and a retry for each.
    CHECK(std::ranges::count(cluster.requests, write_status) <= 2 * 2 * 14);
    CHECK(cluster.metric("signalbox_progress_writes_total{outcome=\"conflict\"}") == 0);
}

TEST_CASE("whatever the clocks of two replicas, the newest report by the training's clock is stored",
          "[faults]") {
    // A replica whose clock is behind by more than a minute takes no token that was just issued.
    for (const std::chrono::seconds ahead : {-50s, 1800s}) {
        CAPTURE(ahead.count());
        Cluster cluster;
        Replica other(cluster, ahead);
        const std::string token = cluster.token();
        for (int i = 1; i <= 30; ++i) {
            CHECK((i % 2 == 0 ? other.send(token, i) : cluster.send(token, cluster.report(i))) == 200);
            cluster.clock.run_for(1s);
            CHECK(cluster.trainer_status()["progressPercentage"].int_or(0) > i - 8);
        }
        const std::string before = cluster.report(40);
        cluster.clock.run_for(10s);
        CHECK(cluster.trainer_status()["progressPercentage"] == Json(30));
        // What was reported before comes late to either replica, even if it has stored another one meanwhile.
        for (const bool to_other : {true, false}) {
            const std::string newer = cluster.report(50);
            CHECK((to_other ? cluster.send(token, newer) : other.send(token, newer)) == 200);
            cluster.clock.run_for(6s);
            CHECK((to_other ? other.send(token, before) : cluster.send(token, before)) == 200);
            cluster.clock.run_for(12s);
            CHECK(cluster.trainer_status()["progressPercentage"] == Json(50));
        }
    }
}

TEST_CASE("a shutdown stores five thousand pending reports within its budget, but none of a replaced job",
          "[faults]") {
    Cluster cluster;
    add_pending(cluster, 5000);
    cluster.add_job({.ns = "ns", .name = "job-17"}, "successor", "s");
    CHECK(drain(cluster) == 0);
    int stored = 0;
    for (int i = 0; i < 5000; ++i)
        stored += cluster.trainer_status(
                      {.ns = "ns", .name = "job-" + std::to_string(i)})["progressPercentage"] == Json(7);
    CHECK(stored == 4999);
    CHECK(cluster.trainer_status({.ns = "ns", .name = "job-17"}).is_null());
    CHECK(cluster.metric("signalbox_progress_lost_total{reason=\"shutdown\"}") == 0);
}

TEST_CASE("a shutdown without an API server ends in time, and counts what is lost", "[faults]") {
    Cluster cluster;
    add_pending(cluster, 100);
    cluster.errors[write_status] = {.code = api::Errc::unavailable, .message = "connection refused"};
    CHECK(drain(cluster) == 100);
    CHECK(cluster.metric("signalbox_progress_lost_total{reason=\"shutdown\"}") == 100);
    CHECK_THAT(cluster.log_text, Catch::Contains("reports of progress are lost"));
}
