#include "progress/membership.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using namespace progress;
using namespace std::chrono_literals;

namespace {

constexpr kube::SteadyTime start = kube::SteadyTime(1000h);
const api::ObjectKey job = {.ns = "ns", .name = "job"};

net::Digest digest(int i) { return net::digest_of(std::to_string(i)); }

Json tree(const char* text) { return api::parse_json(text).value(); }

const Json pod = tree(R"({"metadata": {
    "name": "p", "uid": "pod-1", "creationTimestamp": "2026-01-15T10:00:00Z",
    "labels": {"jobset.sigs.k8s.io/jobset-uid": "set-1"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Other", "uid": "o"},
                        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": true}]}})");

Json changed(Json object, const char* patch) {
    const Json changes = tree(patch);
    for (const auto& [name, value] : changes.members()) object["metadata"][name] = value;
    return object;
}

}  // namespace

TEST_CASE("an accepted token is stored for five minutes, or until it expires", "[members]") {
    TokenCache tokens;
    CHECK(!tokens.accepted(digest(1), start));
    tokens.accept(digest(1), {.name = "p", .uid = "u"}, 1h, start);
    tokens.accept(digest(2), {.name = "q", .uid = "v"}, 20s, start);
    REQUIRE(tokens.accepted(digest(1), start + 5min - 1ms));
    CHECK(tokens.accepted(digest(1), start)->uid == "u");
    CHECK(!tokens.accepted(digest(1), start + 5min));
    CHECK(tokens.accepted(digest(2), start + 19s));
    CHECK(!tokens.accepted(digest(2), start + 20s));
    CHECK(tokens.was_accepted(digest(2)));
    tokens.forget(digest(2));
    CHECK(!tokens.was_accepted(digest(2)));
}

TEST_CASE("a refused token is stored for ten seconds", "[members]") {
    TokenCache tokens;
    tokens.refuse(digest(1), start);
    CHECK(tokens.refused(digest(1), start + 10s - 1ms));
    CHECK(!tokens.refused(digest(1), start + 10s));
    tokens.refuse(digest(1), start);
    tokens.accept(digest(1), {}, 1h, start);
    CHECK(!tokens.refused(digest(1), start));
}

TEST_CASE("refused tokens displace refused ones, and accepted ones the least recently used", "[members]") {
    TokenCache tokens;
    tokens.accept(digest(-1), {}, 1h, start);
    for (int i = 0; i < 3 * int(TokenCache::most_refused); ++i) tokens.refuse(digest(i), start);
    CHECK(tokens.accepted(digest(-1), start));
    CHECK(!tokens.refused(digest(0), start));
    CHECK(tokens.refused(digest(3 * int(TokenCache::most_refused) - 1), start));
    for (int i = 0; i < int(TokenCache::most_accepted); ++i) {
        tokens.accept(digest(i), {}, 1h, start);
        CHECK(tokens.accepted(digest(-1), start));  // used
    }
    CHECK(tokens.size() == TokenCache::most_accepted);
    CHECK(!tokens.was_accepted(digest(0)));
    CHECK(tokens.was_accepted(digest(1)));
}

TEST_CASE("a JobSet belongs to a TrainJob that controls it", "[members]") {
    const Json train_job = tree(R"({"metadata": {"uid": "job-1"}})");
    const auto owned = [](const char* uid, bool controller) {
        Json set = tree(R"({"metadata": {"uid": "set-1", "ownerReferences": [{"kind": "TrainJob"}]}})");
        Json owner = Json::object({{"kind", "TrainJob"}, {"uid", uid}, {"controller", controller}});
        set["metadata"]["ownerReferences"] = Json::array({std::move(owner)});
        return set;
    };
    CHECK(job_entry(train_job, owned("job-1", true), start).job_set_uid == "set-1");
    CHECK(job_entry(train_job, owned("job-1", true), start).uid == "job-1");
    CHECK(job_entry(train_job, owned("job-1", false), start).job_set_uid.empty());
    CHECK(job_entry(train_job, owned("job-0", true), start).job_set_uid.empty());
    CHECK(job_entry(train_job, Json(), start).job_set_uid.empty());
    CHECK(job_entry(Json(), owned("", true), start).job_set_uid.empty());
}

TEST_CASE("a Pod belongs to a JobSet if a Job controls it and it has the JobSet's label", "[members]") {
    const auto entry = pod_entry(pod, "pod-1");
    REQUIRE(entry);
    CHECK(entry->job_set_uid == "set-1");
    CHECK(entry->created == api::parse_time("2026-01-15T10:00:00Z").value());
    CHECK(!entry->has_reported);
    CHECK(!pod_entry(pod, "pod-2"));
    for (const char* patch :
         {R"({"labels": {}})", R"({"labels": {"jobset.sigs.k8s.io/jobset-uid": ""}})",
          R"({"ownerReferences": []})",
          R"({"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "uid": "j1"}]})",
          R"({"ownerReferences": [{"apiVersion": "x/v1", "kind": "Job", "uid": "j1", "controller": true}]})",
          R"({"ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "controller": true}]})"}) {
        INFO(patch);
        CHECK(!pod_entry(changed(pod, patch), "pod-1"));
    }
}

TEST_CASE("jobs and Pods are stored until they have not been used for ten minutes", "[members]") {
    Membership members(100);
    members.update(job, {.uid = "job-1", .job_set_uid = "set-1", .read_at = start}, start);
    members.update("pod-1", *pod_entry(pod, "pod-1"), start);
    for (auto now = start; now < start + 1h; now += 599s) {
        CHECK(members.job(job, now));
        CHECK(members.pod("pod-1", now));
    }
    const auto last = start + 599s * 6;
    CHECK(members.job(job, last));
    CHECK(members.pod("pod-1", last));
    CHECK(!members.job(job, last + 600s));
    CHECK(!members.pod("pod-1", last + 600s));
}

TEST_CASE("a job without a TrainJob or a JobSet is read every ten seconds", "[members]") {
    Membership members(100);
    for (const JobEntry& entry : {JobEntry{.read_at = start}, JobEntry{.uid = "job-1", .read_at = start}}) {
        members.update(job, entry, start);
        CHECK(members.job(job, start + 9s));
        CHECK(!members.job(job, start + 10s));
    }
    const JobEntry whole = {.uid = "job-1", .job_set_uid = "set-1", .read_at = start};
    CHECK(!members.may_read_again(whole, start + 9s));
    CHECK(members.may_read_again(whole, start + 10s));
}

TEST_CASE("the number of stored jobs is limited", "[members]") {
    Membership members(10);
    for (int i = 0; i < 20; ++i)
        members.update({.ns = "ns", .name = std::to_string(i)},
                       {.uid = "u", .job_set_uid = "s", .read_at = start}, start);
    CHECK(!members.job({.ns = "ns", .name = "9"}, start));
    CHECK(members.job({.ns = "ns", .name = "10"}, start));
}
