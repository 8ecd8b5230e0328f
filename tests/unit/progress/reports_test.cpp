// The answers to training code, and what is stored.
#include <algorithm>

#include "cluster.hpp"

using namespace test;

TEST_CASE("a Pod of the TrainJob reports", "[reports]") {
    Cluster cluster;
    CHECK(cluster.send(cluster.token(), cluster.report(42)) == 200);
    CHECK(cluster.requests == Requests{ask_review, get_job, get_job_set, get_pod, write_status});
    const std::string now = api::format_time(cluster.wall());
    CHECK(*api::parse_json(cluster.last.body) ==
          *api::parse_json(R"({"trainerStatus": {"progressPercentage": 42, "lastUpdatedTime": ")" + now +
                           R"("}})"));
    CHECK(cluster.trainer_status() == *api::parse_json(R"({"progressPercentage": 42, "lastUpdatedTime": ")" +
                                                       now + R"(", "lastProgressTime": ")" + now + R"("})"));
    const Json review = *api::parse_json(cluster.server.requests.front().body);
    CHECK(review["spec"]["audiences"] ==
          Json::array({"trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status"}));
}

TEST_CASE("a Pod whose token is stored is answered without a request, and written once per interval",
          "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(20s);
    const std::string token = cluster.token();
    CHECK(cluster.send(token, cluster.report(30)) == 200);
    // Another token of the Pod causes one TokenReview.
    CHECK(cluster.requests == Requests{ask_review, write_status});
    cluster.requests.clear();
    for (int second = 0; second < 20; ++second) {
        cluster.clock.run_for(1s);
        CHECK(cluster.send(token, cluster.report(40 + second)) == 200);
    }
    CHECK(cluster.requests == Requests(4, write_status));
    cluster.clock.run_for(5s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(59));
}

TEST_CASE("every refusal has its condition, and takes precedence over the later ones", "[reports]") {
    struct Fault {
        const char* name;
        int status;
        std::string message;
        std::function<void(Cluster&, net::HttpRequest&)> harm;
    };
    const std::string invalid =
        "TrainJob.trainer.kubeflow.org \"job\" is invalid: status.trainerStatus.progressPercentage: Invalid "
        "value: "
        "150: status.trainerStatus.progressPercentage in body should be less than or equal to 100";
    // In the order of their precedence.
    const Fault faults[] = {
        {"method", 404, "Not found", [](Cluster&, net::HttpRequest& r) { r.method = "PUT"; }},
        {"trailing slash", 404, "Not found", [](Cluster&, net::HttpRequest& r) { r.target += "/"; }},
        {"token", 403, "Forbidden",
         [](Cluster&, net::HttpRequest& r) {
             r.headers = {{"Authorization", "Bearer x"}};
         }},
        {"nothing known of the token", 500, "Internal error",
         [](Cluster& c, net::HttpRequest&) { c.errors[ask_review] = refusal(500, api::Errc::unavailable); }},
        {"token refused", 403, "Forbidden", [](Cluster& c, net::HttpRequest&) { c.revoked.insert("pod-1"); }},
        {"Pod of another JobSet", 403, "Forbidden",
         [](Cluster& c, net::HttpRequest&) { c.add_pod(job, "pod-1", "set-0"); }},
        {"payload", 422, "Invalid payload",
         [](Cluster&, net::HttpRequest& r) {
             r.body += "{";
             r.body[0] = '[';
         }},
        {"no TrainJob", 404, "Train job not found",
         [](Cluster& c, net::HttpRequest&) { c.remove("trainjobs", job); }},
        {"bounds", 422, invalid,
         [](Cluster&, net::HttpRequest& r) {
             if (const auto at = r.body.find("42"); at != std::string::npos) r.body.replace(at, 2, "150");
         }},
        {"the write", 500, "Internal error",
         [](Cluster& c, net::HttpRequest&) {
             c.errors[write_status] = refusal(500, api::Errc::unavailable);
         }},
    };
    const std::size_t count = std::size(faults);
    for (std::size_t first = 0; first < count; ++first) {
        for (std::size_t second = first; second < count; ++second) {
            Cluster cluster;
            net::HttpRequest request = Cluster::post(cluster.token(), cluster.report(42));
            INFO(faults[first].name << ", " << faults[second].name);
            // Without a TrainJob there is no JobSet that a Pod could belong to.
            const bool excluded = faults[first].name == std::string("Pod of another JobSet") &&
                                  faults[second].name == std::string("no TrainJob");
            if (excluded) continue;
            faults[second].harm(cluster, request);
            if (first != second) faults[first].harm(cluster, request);
            const auto status = cluster.send(std::move(request));
            CHECK(status == faults[first].status);
            CHECK(cluster.message() == faults[first].message);
            CHECK(cluster.trainer_status().is_null());
        }
    }
}

TEST_CASE("a report for no TrainJob is refused as such, whatever Pod it is from", "[reports]") {
    Cluster cluster;
    cluster.remove("trainjobs", job);
    cluster.object("pods", {.ns = "ns", .name = "pod-1"})["metadata"].erase("ownerReferences");
    CHECK(cluster.send(cluster.token(), cluster.report(1)) == 404);
    CHECK(cluster.message() == "Train job not found");
    CHECK(cluster.requests == Requests{ask_review, get_job});
}

TEST_CASE("an empty report is accepted, also without the TrainJob, and writes nothing", "[reports]") {
    for (const bool exists : {true, false}) {
        Cluster cluster;
        if (!exists) cluster.remove("trainjobs", job);
        for (const char* body : {"{}", "null", R"({"trainerStatus": null})"}) {
            CHECK(cluster.send(cluster.token(), body) == 200);
            CHECK(cluster.last.body == "{}");
        }
        cluster.clock.run_for(1min);
        CHECK(std::ranges::count(cluster.requests, write_status) == 0);
    }
}

TEST_CASE("an accepted report is stored within the interval", "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(2s);
    CHECK(cluster.send(cluster.token(), cluster.report(2)) == 200);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(1));
    cluster.clock.run_for(3s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(2));
}

TEST_CASE("a report that waits for its write is answered after four seconds at most", "[reports]") {
    Cluster cluster({.limits = {.writes_per_second = 0.2}});
    cluster.add_job({.ns = "ns", .name = "other"}, "job-2", "set-2");
    cluster.add_pod(job, "pod-2", "set-2");
    cluster.begin();
    const api::ObjectKey other = {.ns = "ns", .name = "other"};
    const auto answer = cluster.start(Cluster::post(cluster.token("pod-2", other), cluster.report(7), other));
    cluster.clock.run_for(3999ms);
    CHECK(!*answer);
    cluster.clock.run_for(1ms);
    REQUIRE(*answer);
    CHECK((*answer)->status == 200);
    CHECK(cluster.trainer_status(other).is_null());
    cluster.clock.run_for(10s);
    CHECK(cluster.trainer_status(other)["progressPercentage"] == Json(7));
}

TEST_CASE("a write without an answer counts as failed, and its report is written later", "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(1min);
    const std::string token = cluster.token();
    CHECK(cluster.send(token, "{}") == 200);
    cluster.server.delay = 1h;
    const auto answer = cluster.start(Cluster::post(token, cluster.report(100)));
    cluster.clock.run_for(4s);
    REQUIRE(*answer);
    CHECK((*answer)->status == 500);
    cluster.server.delay = 0ms;
    cluster.clock.run_for(7s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(100));
}

TEST_CASE("failed writes have these answers", "[reports]") {
    struct Row {
        const char* what;
        api::Error error;
        int status;
        std::string message;
    };
    const Row rows[] = {
        {"permission", refusal(403, api::Errc::forbidden), 500, "Internal error"},
        {"too many requests", refusal(429, api::Errc::unavailable), 500, "Internal error"},
        {"unavailable", refusal(503, api::Errc::unavailable), 500, "Internal error"},
        {"schema", refusal(422, api::Errc::invalid, "the API server's words"), 422, "the API server's words"},
        {"conflict for good", refusal(409, api::Errc::conflict), 500, "Internal error"},
        {"gone", refusal(404, api::Errc::not_found), 404, "Train job not found"},
    };
    for (const Row& row : rows) {
        DYNAMIC_SECTION(row.what) {
            Cluster cluster;
            cluster.errors[write_status] = row.error;
            CHECK(cluster.send(cluster.token(), cluster.report(1)) == row.status);
            CHECK(cluster.message() == row.message);
            CHECK(cluster.trainer_status().is_null());
        }
    }
}

TEST_CASE("a TrainJob that was replaced before the write is not changed", "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(1s);
    CHECK(cluster.send(cluster.token(), cluster.report(50)) == 200);
    cluster.add_job(job, "job-2", "set-2");
    cluster.clock.run_for(10s);
    CHECK(cluster.trainer_status().is_null());
    // Its own Pod may report; a Pod of the former TrainJob may not any more.
    CHECK(cluster.send(cluster.token(), cluster.report(51)) == 403);
    cluster.add_pod(job, "pod-2", "set-2");
    CHECK(cluster.send(cluster.token("pod-2"), cluster.report(1)) == 200);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(1));
}

TEST_CASE("a TrainJob that is replaced while the answer waits is not written", "[reports]") {
    Cluster cluster;
    cluster.before_write = [&](const kube::Request&) { cluster.add_job(job, "job-2", "set-2"); };
    CHECK(cluster.send(cluster.token(), cluster.report(50)) == 403);
    CHECK(cluster.trainer_status().is_null());
}

TEST_CASE("a concurrent write of the reconciler does not prevent the write", "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(1s);
    CHECK(cluster.send(cluster.token(), cluster.report(2)) == 200);
    cluster.object("trainjobs", job)["metadata"]["resourceVersion"] = std::to_string(++cluster.version);
    cluster.clock.run_for(4s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(2));
    CHECK(std::ranges::count(cluster.requests, get_job) == 1);
}

TEST_CASE("two servers with one job keep the newest report", "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.clock.run_for(1s);
    CHECK(cluster.send(cluster.token(), cluster.report(2)) == 200);
    cluster.clock.run_for(1s);
    // The other one's clock is an hour ahead.
    const std::string newer = api::format_time(cluster.wall()), ahead = api::format_time(cluster.wall() + 1h);
    Json& stored = cluster.object("trainjobs", job);
    stored["metadata"]["resourceVersion"] = std::to_string(++cluster.version);
    stored["status"]["trainerStatus"] =
        *api::parse_json(R"({"progressPercentage": 3, "lastUpdatedTime": ")" + newer +
                         R"(", "lastProgressTime": ")" + ahead + R"("})");
    cluster.clock.run_for(10s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(3));
    CHECK(cluster.send(cluster.token(), cluster.report(4)) == 200);
    cluster.clock.run_for(5s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(4));
    CHECK(cluster.trainer_status()["lastProgressTime"].as_string() < ahead);
}

TEST_CASE("while the API server is down reports are not accepted, and the latest is written when it is back",
          "[reports]") {
    Cluster cluster;
    cluster.begin();
    const std::string token = cluster.token();
    CHECK(cluster.send(token, "{}") == 200);
    cluster.errors[write_status] = {.code = api::Errc::unavailable, .message = "connection refused"};
    cluster.clock.run_for(1s);
    CHECK(cluster.send(token, cluster.report(2)) == 200);
    for (int i = 3; i < 40; ++i) {
        cluster.clock.run_for(5s);
        CHECK(cluster.send(token, cluster.report(i), 5s) == 500);
    }
    cluster.errors.clear();
    cluster.clock.run_for(30s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(39));
    CHECK_THAT(cluster.log_text, Catch::Contains("cannot write progress"));
}

TEST_CASE("before the shutdown ends, everything pending is written", "[reports]") {
    Cluster cluster({.limits = {.writes_per_second = 200}, .reviews_by_address = false});
    for (int i = 0; i < 300; ++i) {
        const std::string number = std::to_string(i);
        const api::ObjectKey key = {.ns = "ns", .name = "job-" + number};
        cluster.add_job(key, "u" + number, "s" + number);
        cluster.add_pod(key, "p" + number, "s" + number);
        cluster.clock.run_for(15ms);
        const std::string token = cluster.token("p" + number, key);
        CHECK(cluster.send(Cluster::post(token, cluster.report(1), key)) == 200);
        CHECK(cluster.send(Cluster::post(token, cluster.report(2), key)) == 200);
    }
    const auto drained = std::make_shared<std::optional<std::size_t>>();
    boost::asio::co_spawn(cluster.context, cluster.writer.drain(5, 10s),
                          [drained](std::exception_ptr, std::size_t lost) { *drained = lost; });
    cluster.clock.run_for(2s);
    REQUIRE(*drained);
    CHECK(**drained == 0);
    for (int i = 0; i < 300; ++i)
        CHECK(cluster.trainer_status(
                  {.ns = "ns", .name = "job-" + std::to_string(i)})["progressPercentage"] == Json(2));
}

TEST_CASE("requests are counted by outcome", "[reports]") {
    Cluster cluster;
    cluster.begin();
    cluster.send(cluster.token(), "{}");
    cluster.send("x", "{}");
    cluster.send({.method = "GET", .target = "/"});
    const auto count = [&](const std::string& outcome) {
        return cluster.metric("signalbox_progress_reports_total{outcome=\"" + outcome + "\"}");
    };
    CHECK(count("accepted") == 1);
    CHECK(count("empty") == 1);
    CHECK(count("forbidden") == 1);
    CHECK(count("not_found") == 1);
    CHECK(count("limited") == 0);
    CHECK(cluster.metric("signalbox_progress_writes_total{outcome=\"stored\"}") == 1);
    CHECK(cluster.metric("signalbox_progress_token_reviews_total{outcome=\"accepted\"}") == 1);
}

TEST_CASE("the log has the first refusal of a job and reason, and no token", "[reports]") {
    Cluster cluster;
    cluster.revoked.insert("pod-1");
    const std::string token = cluster.token();
    for (int i = 0; i < 5; ++i) CHECK(cluster.send(token, cluster.report(1)) == 403);
    const auto lines = [&] {
        std::size_t count = 0;
        for (auto at = cluster.log_text.find("refused a report"); at != std::string::npos;
             at = cluster.log_text.find("refused a report", at + 1))
            ++count;
        return count;
    };
    CHECK(lines() == 1);
    CHECK_THAT(cluster.log_text, Catch::Contains("ns/job") && Catch::Contains("10.0.0.1"));
    CHECK(cluster.log_text.find(token) == std::string::npos);
    for (int i = 0; i < 500; ++i) {
        const api::ObjectKey other = {.ns = "ns", .name = "other-" + std::to_string(i)};
        CHECK(cluster.send(Cluster::post("x", "{}", other)) == 403);
    }
    CHECK(lines() == 60);
}

TEST_CASE("after a refused write no report is accepted before one is stored", "[reports]") {
    Cluster cluster;
    cluster.errors[write_status] = refusal(403, api::Errc::forbidden);
    CHECK(cluster.send(cluster.token(), cluster.report(1)) == 500);
    // It waits for the next write, which is due later than its answer.
    CHECK(cluster.send(cluster.token(), cluster.report(2), 5s) == 500);
    cluster.errors.clear();
    cluster.clock.run_for(10s);
    CHECK(cluster.send(cluster.token(), cluster.report(3)) == 200);
    cluster.clock.run_for(10s);
    CHECK(cluster.trainer_status()["progressPercentage"] == Json(3));
}
