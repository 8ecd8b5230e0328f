#pragma once
// A schedule in virtual time, with an API server that stores every write.
#include <catch2/catch.hpp>
#include <map>

#include "progress/schedule.hpp"
#include "support/printers.hpp"

namespace test {

using namespace std::chrono_literals;
using progress::Moment;
using progress::Schedule;
using Outcome = progress::Schedule::Outcome;
using Reply = progress::Schedule::Reply;

inline const api::ObjectKey job = {.ns = "ns", .name = "job"};

/// Each in a namespace of its own.
inline api::ObjectKey numbered(int i) {
    return {.ns = "ns-" + std::to_string(i), .name = "job-" + std::to_string(i)};
}

inline api::Error error_of(int status, api::Errc code) {
    return {.code = code, .message = "no", .http_status = status};
}
inline const api::Error conflict = error_of(409, api::Errc::conflict);
inline const api::Error broken = error_of(500, api::Errc::unavailable);

struct Plan {
    explicit Plan(progress::ScheduleLimits limits = {}) : schedule(limits) {}

    Moment now() const { return {.steady = steady, .wall = wall}; }
    api::Time wall_now() const { return wall; }
    void pass(std::chrono::milliseconds time) {
        steady += time;
        passed += time;
        wall = start + std::chrono::floor<std::chrono::seconds>(passed);
    }

    /// Reads the job as it is stored.
    void update(const api::ObjectKey& key = job) { schedule.update(key, stored[key], now()); }

    /// Reports now; `progress` is its percentage.
    progress::Report report(int progress) const { return {.percentage = progress, .updated = wall}; }
    Reply submit(progress::Schedule::Arrival arrival, const api::ObjectKey& key = job) {
        return schedule.submit(key, std::move(arrival), now()).reply;
    }
    Reply submit(int progress, const api::ObjectKey& key = job) {
        return submit({.report = report(progress)}, key);
    }

    /// Takes the write that is due. Returns its sequence number, for the answer.
    std::optional<progress::Schedule::Write> take() { return schedule.next(now()); }
    progress::Schedule::Write must_take() {
        auto write = take();
        REQUIRE(write);
        return std::move(*write);
    }
    api::Json status_of(const progress::Schedule::Write& write) const {
        return api::parse_json(write.request.body).value()["status"]["trainerStatus"];
    }
    std::string version_of(const progress::Schedule::Write& write) const {
        return std::string(
            api::parse_json(write.request.body).value()["metadata"]["resourceVersion"].as_string());
    }
    /// Stores the write, as the API server does.
    Outcome store(const progress::Schedule::Write& write) {
        progress::StoredStatus& object = stored[write.job];
        api::Json tree = api::Json::object();
        tree["metadata"] =
            api::Json::object({{"uid", object.uid},
                               {"resourceVersion", std::to_string(std::stoi(object.resource_version) + 1)}});
        tree["status"]["trainerStatus"] = status_of(write);
        object = progress::stored_status(tree, object.bytes);
        return schedule.written(write.job, write.sequence, object, now());
    }
    /// Sends and stores all writes that are due now.
    int write_all() {
        int count = 0;
        for (auto write = take(); write; write = take(), ++count) store(*write);
        return count;
    }
    Outcome fail(const progress::Schedule::Write& write, const api::Error& error) {
        return schedule.failed(write.job, write.sequence, error, now());
    }
    Outcome read_again(const progress::Schedule::Write& write) {
        return schedule.read_again(write.job, write.sequence, stored[write.job], now());
    }

    struct Objects : std::map<api::ObjectKey, progress::StoredStatus> {
        progress::StoredStatus& operator[](const api::ObjectKey& key) {
            const auto made = progress::stored_status(
                api::parse_json(R"({"metadata": {"uid": "uid", "resourceVersion": "1"}})").value(), 1000);
            return try_emplace(key, made).first->second;
        }
    };

    static constexpr api::Time start = api::Time(std::chrono::hours(500'000));
    kube::SteadyTime steady = kube::SteadyTime(std::chrono::hours(1000));
    api::Time wall = start;
    std::chrono::milliseconds passed{0};
    Objects stored = {};
    progress::Schedule schedule;
};

}  // namespace test
