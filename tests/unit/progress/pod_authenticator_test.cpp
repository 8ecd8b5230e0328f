// Which Pods may report, and the requests that this takes.
#include <algorithm>

#include "cluster.hpp"

using namespace test;

TEST_CASE("a token is valid for the Pod that the API server names", "[authentication]") {
    const std::pair<const char*, std::function<void(Json&)>> rows[] = {
        {"not authenticated", [](Json& s) { s["authenticated"] = false; }},
        {"no audience, as an old API server", [](Json& s) { s.erase("audiences"); }},
        {"another audience", [](Json& s) { s["audiences"] = Json::array({Json("x")}); }},
        {"account of another namespace",
         [](Json& s) { s["user"]["username"] = "system:serviceaccount:other:default"; }},
        {"no account", [](Json& s) { s["user"]["username"] = "alice"; }},
        {"no Pod", [](Json& s) { s["user"].erase("extra"); }},
        {"another Pod's name",
         [](Json& s) {
             s["user"]["extra"]["authentication.kubernetes.io/pod-name"] = Json::array({Json("x")});
         }},
        {"another Pod's UID",
         [](Json& s) {
             s["user"]["extra"]["authentication.kubernetes.io/pod-uid"] = Json::array({Json("x")});
         }},
    };
    for (const auto& [what, harm] : rows) {
        DYNAMIC_SECTION(what) {
            Cluster cluster;
            cluster.distort_review = harm;
            CHECK(cluster.send(cluster.token(), cluster.report(1)) == 403);
            CHECK(cluster.requests == Requests{ask_review});
        }
    }
}

TEST_CASE("a TokenReview without a result refuses no token", "[authentication]") {
    Cluster cluster;
    cluster.distort_review = [](Json& status) { status = Json(); };
    CHECK(cluster.send(cluster.token(), cluster.report(1)) == 500);
    cluster.distort_review = {};
    CHECK(cluster.send(cluster.token(), cluster.report(1)) == 200);
}

TEST_CASE("only Pods of the TrainJob's present JobSet may report", "[authentication]") {
    struct Row {
        const char* what;
        std::function<void(Cluster&)> harm;
        int status;
    };
    const Row rows[] = {
        {"no Pod", [](Cluster& c) { c.remove("pods", {.ns = "ns", .name = "pod-1"}); }, 403},
        {"a Pod of that name and another UID",
         [](Cluster& c) { c.object("pods", {.ns = "ns", .name = "pod-1"})["metadata"]["uid"] = "pod-9"; },
         403},
        {"a bare Pod",
         [](Cluster& c) {
             c.object("pods", {.ns = "ns", .name = "pod-1"})["metadata"].erase("ownerReferences");
         },
         403},
        {"without a label",
         [](Cluster& c) { c.object("pods", {.ns = "ns", .name = "pod-1"})["metadata"].erase("labels"); },
         403},
        {"of another JobSet", [](Cluster& c) { c.add_pod(job, "pod-1", "set-7"); }, 403},
        {"no JobSet", [](Cluster& c) { c.remove("jobsets", job); }, 403},
        {"a JobSet of another owner",
         [](Cluster& c) {
             c.object("jobsets", job)["metadata"]["ownerReferences"].items()[0]["uid"] = "job-0";
         },
         403},
        {"no TrainJob", [](Cluster& c) { c.remove("trainjobs", job); }, 404},
        {"the TrainJob cannot be read",
         [](Cluster& c) { c.errors[get_job] = refusal(403, api::Errc::forbidden); }, 500},
        {"the JobSet cannot be read",
         [](Cluster& c) { c.errors[get_job_set] = refusal(500, api::Errc::unavailable); }, 500},
        {"the Pod cannot be read",
         [](Cluster& c) { c.errors[get_pod] = refusal(500, api::Errc::unavailable); }, 500},
    };
    for (const Row& row : rows) {
        DYNAMIC_SECTION(row.what) {
            Cluster cluster;
            row.harm(cluster);
            CHECK(cluster.send(cluster.token(), cluster.report(1)) == row.status);
            CHECK(std::ranges::count(cluster.requests, write_status) == 0);
        }
    }
}

TEST_CASE("after a JobSet was created again, its own Pods may report and the former ones may not",
          "[authentication]") {
    Cluster cluster;
    cluster.begin();
    cluster.object("jobsets", job)["metadata"]["uid"] = "set-2";
    cluster.add_pod(job, "pod-2", "set-2");
    cluster.clock.run_for(10s);
    CHECK(cluster.send(cluster.token("pod-2"), cluster.report(2)) == 200);
    CHECK(cluster.requests == Requests{ask_review, get_pod, get_job, get_job_set, write_status});
    CHECK(cluster.send(cluster.token("pod-1"), cluster.report(3)) == 403);
}

TEST_CASE("Pods that do not belong to the job cause a read every ten seconds at most", "[authentication]") {
    Cluster cluster({.reviews_by_address = false});
    cluster.begin();
    for (int i = 0; i < 100; ++i) {
        const std::string pod = "stray-" + std::to_string(i);
        cluster.add_pod(job, pod, "set-7");
        cluster.clock.run_for(200ms);
        CHECK(cluster.send(cluster.token(pod), cluster.report(1)) == 403);
    }
    CHECK(std::ranges::count(cluster.requests, get_job) == 2);
}

TEST_CASE("a refused Pod is not read again for ten seconds", "[authentication]") {
    Cluster cluster;
    cluster.add_pod(job, "pod-1", "set-7");
    const std::string token = cluster.token();
    CHECK(cluster.send(token, cluster.report(1)) == 403);
    cluster.requests.clear();
    cluster.clock.run_for(9s);
    CHECK(cluster.send(token, cluster.report(1)) == 403);
    CHECK(cluster.requests.empty());
    cluster.clock.run_for(1s);
    cluster.add_pod(job, "pod-1", "set-1");
    cluster.clock.run_for(10min);
    CHECK(cluster.send(cluster.token(), cluster.report(1)) == 200);
}

TEST_CASE("a token is checked again after five minutes, the Pod and its job are not", "[authentication]") {
    Cluster cluster;
    const std::string token = cluster.token();
    CHECK(cluster.send(token, cluster.report(1)) == 200);
    for (int i = 0; i < 5; ++i) {
        cluster.clock.run_for(59s);
        CHECK(cluster.send(token, "{}") == 200);
    }
    cluster.requests.clear();
    cluster.clock.run_for(6s);
    CHECK(cluster.send(token, "{}") == 200);
    CHECK(cluster.requests == Requests{ask_review});
    // A token becomes invalid with its Pod, here so much later.
    cluster.revoked.insert("pod-1");
    CHECK(cluster.send(token, "{}") == 200);
    cluster.clock.run_for(5min);
    CHECK(cluster.send(token, "{}") == 403);
}

TEST_CASE("concurrent requests with one token share one TokenReview", "[authentication]") {
    Cluster cluster;
    cluster.server.delay = 100ms;
    std::vector<Cluster::Answer> answers;
    for (int i = 0; i < 20; ++i) answers.push_back(cluster.start(Cluster::post(cluster.token(), "{}")));
    cluster.clock.run_for(1s);
    for (const auto& answer : answers) {
        REQUIRE(*answer);
        CHECK((*answer)->status == 200);
    }
    CHECK(cluster.requests == Requests{ask_review, get_job, get_job_set, get_pod});
}

TEST_CASE("Pods of one job that start together cause one read of it", "[authentication]") {
    Cluster cluster({.reviews_by_address = false});
    cluster.server.delay = 100ms;
    std::vector<Cluster::Answer> answers;
    for (int i = 0; i < 8; ++i) {
        cluster.add_pod(job, "p" + std::to_string(i), "set-1");
        answers.push_back(
            cluster.start(Cluster::post(cluster.token("p" + std::to_string(i)), cluster.report(i))));
    }
    cluster.clock.run_for(2s);
    for (const auto& answer : answers) {
        REQUIRE(*answer);
        CHECK((*answer)->status == 200);
    }
    CHECK(std::ranges::count(cluster.requests, get_job) == 1);
    CHECK(std::ranges::count(cluster.requests, ask_review) == 8);
}

TEST_CASE("forged tokens cause a bounded number of TokenReviews, eight at a time", "[authentication]") {
    Cluster cluster({.reviews_by_address = false});
    cluster.begin();
    const std::string good = cluster.token();
    CHECK(cluster.send(good, "{}") == 200);
    cluster.requests.clear();
    std::vector<Cluster::Answer> answers;
    for (int i = 0; i < 1000; ++i) {
        cluster.revoked.insert("f" + std::to_string(i));
        answers.push_back(cluster.start(Cluster::post(cluster.token("f" + std::to_string(i)), "{}")));
        cluster.clock.run_for(1ms);
    }
    CHECK(cluster.send(good, "{}") == 200);
    CHECK(std::ranges::count(cluster.requests, ask_review) <= 111);
    cluster.clock.run_for(3s);
    std::map<int, int> statuses;
    for (const auto& answer : answers) {
        REQUIRE(*answer);
        ++statuses[(*answer)->status];
    }
    CHECK(statuses[403] + statuses[429] == 1000);
    CHECK(statuses[403] <= 310);
    CHECK(cluster.metric("signalbox_progress_limited_total{limit=\"token_reviews\"}") == statuses[429]);
}

TEST_CASE("one address with forged tokens does not exclude another one", "[authentication]") {
    Cluster cluster;
    for (int i = 0; i < 200; ++i) {
        cluster.revoked.insert("f" + std::to_string(i));
        cluster.start(Cluster::post(cluster.token("f" + std::to_string(i)), "{}"));
        cluster.clock.run_for(10ms);
    }
    CHECK(std::ranges::count(cluster.requests, ask_review) <= 30);
    net::HttpRequest request = Cluster::post(cluster.token(), cluster.report(1));
    request.peer = "10.0.0.2";
    const auto status = cluster.send(std::move(request));
    CHECK(status == 200);
}

TEST_CASE("while the API server does not answer TokenReviews, reports are unavailable", "[authentication]") {
    Cluster cluster;
    cluster.server.delay = 1h;
    CHECK(cluster.send(Cluster::post(cluster.token(), cluster.report(1)), 5s) == 500);
    cluster.server.delay = 0ms;
    CHECK(cluster.send(cluster.token(), cluster.report(1)) == 200);
}

TEST_CASE("a job for which there is no room is refused for now", "[authentication]") {
    Cluster cluster({.limits = {.jobs = 1}});
    const api::ObjectKey other = {.ns = "ns", .name = "other"};
    cluster.add_job(other, "job-2", "set-2");
    cluster.add_pod(other, "pod-2", "set-2");
    cluster.begin();
    CHECK(cluster.send(Cluster::post(cluster.token("pod-2", other), cluster.report(1), other)) == 429);
    cluster.clock.run_for(1min);
    CHECK(cluster.send(Cluster::post(cluster.token("pod-2", other), cluster.report(1), other)) == 200);
}

TEST_CASE("a token of one TrainJob is refused for another one", "[authentication]") {
    Cluster cluster;
    const api::ObjectKey other = {.ns = "ns", .name = "other"};
    cluster.add_job(other, "job-2", "set-2");
    cluster.begin();
    CHECK(cluster.send(Cluster::post(cluster.token(), cluster.report(1), other)) == 403);
    CHECK(cluster.requests.empty());
}
