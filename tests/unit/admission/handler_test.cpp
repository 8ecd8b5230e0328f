#include "admission/handler.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>
#include <optional>

#include "api/base64.hpp"
#include "reviews.hpp"
#include "support/printers.hpp"

using api::Json;
using test::Fixture;
using test::post;
using test::Reply;
using test::review;
using namespace std::chrono_literals;

namespace {

net::HttpRequest valid_request() { return post(test::train_job_path, review("CREATE", test::train_job())); }

}  // namespace

TEST_CASE("a body that is no review gets an HTTP error and no verdict", "[review]") {
    struct Case {
        const char* name;
        void (*change)(net::HttpRequest&);
        int want;
        const char* counted_as;
    };
    const Case cases[] = {
        {"an unknown path", [](auto& r) { r.target = "/convert"; }, 404,
         R"(code="404",path="other",verdict="none")"},
        {"the root", [](auto& r) { r.target = "/"; }, 404, R"(code="404",path="other",verdict="none")"},
        {"GET", [](auto& r) { r.method = "GET"; }, 405, R"(code="405",)"},
        {"PUT", [](auto& r) { r.method = "PUT"; }, 405, R"(code="405",)"},
        {"HEAD", [](auto& r) { r.method = "HEAD"; }, 405, R"(code="405",)"},
        {"DELETE", [](auto& r) { r.method = "DELETE"; }, 405, R"(code="405",)"},
        {"OPTIONS", [](auto& r) { r.method = "OPTIONS"; }, 405, R"(code="405",)"},
        {"a tunnel",
         [](auto& r) {
             r.method = "CONNECT";
             r.target = "kubernetes.default:443";
         },
         404, R"(code="404",path="other",verdict="none")"},
        {"no media type", [](auto& r) { r.headers.clear(); }, 415, R"(code="415",)"},
        {"an empty media type", [](auto& r) { r.headers[0].second = ""; }, 415, R"(code="415",)"},
        {"text", [](auto& r) { r.headers[0].second = "text/plain"; }, 415, R"(code="415",)"},
        {"YAML", [](auto& r) { r.headers[0].second = "application/yaml"; }, 415, R"(code="415",)"},
        {"JSON as text", [](auto& r) { r.headers[0].second = "text/json"; }, 415, R"(code="415",)"},
        {"a longer media type", [](auto& r) { r.headers[0].second = "application/jsonl"; }, 415,
         R"(code="415",)"},
        {"an empty body", [](auto& r) { r.body.clear(); }, 400, R"(code="400",)"},
        {"no JSON", [](auto& r) { r.body = "hello"; }, 400, R"(code="400",)"},
        {"no UTF-8", [](auto& r) { r.body = "\xff\xfe"; }, 400, R"(code="400",)"},
        {"UTF-16", [](auto& r) { r.body = std::string("\xff\xfe{\0}\0", 6); }, 400, R"(code="400",)"},
        {"objects without end", [](auto& r) { r.body.assign(100'000, '{'); }, 400, R"(code="400",)"},
        {"half a review", [](auto& r) { r.body.resize(r.body.size() / 2); }, 400, R"(code="400",)"},
        {"two reviews", [](auto& r) { r.body += r.body; }, 400, R"(code="400",)"},
        {"a list", [](auto& r) { r.body = "[]"; }, 400, R"(code="400",)"},
        {"null", [](auto& r) { r.body = "null"; }, 400, R"(code="400",)"},
        {"an empty object", [](auto& r) { r.body = "{}"; }, 400, R"(code="400",)"},
        {"no version", [](auto& r) { r.body = R"({"kind":"AdmissionReview"})"; }, 400, R"(code="400",)"},
        {"another kind", [](auto& r) { r.body = api::to_json(test::train_job()); }, 400, R"(code="400",)"},
        {"an old version",
         [](auto& r) { r.body.replace(r.body.find("admission.k8s.io/v1"), 19, "admission.k8s.io/v1beta1"); },
         400, R"(code="400",)"},
        {"no request",
         [](auto& r) { r.body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})"; }, 400,
         R"(code="400",)"},
        {"no uid", [](auto& r) { r.body.replace(r.body.find("review-1"), 8, ""); }, 400, R"(code="400",)"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            net::HttpRequest request = valid_request();
            c.change(request);
            const bool is_dear = request.body.size() > 64 * 1024;
            bool at_once = false;
            const Reply reply = fixture.ask(std::move(request), at_once);
            CHECK(at_once == !is_dear);
            CHECK(reply.http.status == c.want);
            CHECK(reply.http.body.size() > 1);
            CHECK(reply.http.body.size() < 200);
            CHECK_THAT(std::string(net::header(reply.http.headers, "Content-Type")),
                       Catch::StartsWith("text/plain"));
            CHECK_FALSE(reply.http.close);
            CHECK(net::header(reply.http.headers, "Allow") == (c.want == 405 ? "POST" : ""));
            CHECK(net::header(reply.http.headers, "Retry-After").empty());
            CHECK_THAT(fixture.metrics_text(), Catch::Contains(c.counted_as));
            CHECK(fixture.server.requests.empty());
        }
    }
}

TEST_CASE("media types may have parameters and any case", "[review]") {
    for (const char* type : {"application/json", "application/json; charset=utf-8", "Application/JSON",
                             "application/json ;charset=utf-8"}) {
        DYNAMIC_SECTION(type) {
            Fixture fixture;
            net::HttpRequest request =
                post(test::cluster_runtime_path, review("CREATE", test::cluster_runtime()));
            request.headers[0].second = type;
            CHECK(fixture.ask(request).http.status == 200);
        }
    }
}

TEST_CASE("an inconsistent request is denied as bad", "[review]") {
    struct Case {
        const char* name;
        void (*change)(Json& request);
        const char* path;  // nullptr: the path of TrainJobs
        const char* text;
    };
    const Case cases[] = {
        {"unknown operation", [](Json& r) { r["operation"] = "PATCH"; }, nullptr, "operation \"PATCH\""},
        {"no operation", [](Json& r) { r.erase("operation"); }, nullptr, "operation \"\""},
        {"a kind of another path", [](Json&) {}, test::cluster_runtime_path.c_str(),
         "ClusterTrainingRuntime"},
        {"another group", [](Json& r) { r["kind"]["group"] = "example.com"; }, nullptr, "example.com"},
        {"another version", [](Json& r) { r["kind"]["version"] = "v2"; }, nullptr, "v2"},
        {"a kind of Kubernetes itself",
         [](Json& r) {
             r["kind"] = Json::object({{"group", ""}, {"version", "v1"}, {"kind", "Pod"}});
         },
         nullptr, "Pod"},
        {"no kind", [](Json& r) { r.erase("kind"); }, nullptr, "TrainJob"},
        {"no object", [](Json& r) { r["object"] = nullptr; }, nullptr, "request.object is not a TrainJob"},
        {"a text as object", [](Json& r) { r["object"] = "x"; }, nullptr, "request.object"},
        {"a list as object", [](Json& r) { r["object"] = Json::array(); }, nullptr, "request.object"},
        {"an object of another kind", [](Json& r) { r["object"]["kind"] = "Pod"; }, nullptr,
         "request.object"},
        {"an object of another group", [](Json& r) { r["object"]["apiVersion"] = "v1"; }, nullptr,
         "request.object"},
        {"an update without the old object", [](Json& r) { r["operation"] = "UPDATE"; }, nullptr,
         "request.oldObject"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            Json body = review("CREATE", test::train_job());
            c.change(body["request"]);
            const Reply reply = fixture.ask(post(c.path ? c.path : test::train_job_path, body));
            REQUIRE(reply.http.status == 200);
            CHECK(reply.response["uid"].as_string() == "review-1");
            CHECK_FALSE(reply.allowed());
            CHECK(reply.denial_code() == 400);
            CHECK(reply.response["status"]["reason"].as_string() == "BadRequest");
            CHECK_THAT(reply.message(), Catch::Contains(c.text));
            CHECK_THAT(fixture.metrics_text(), Catch::Contains(R"(verdict="denied")"));
            CHECK(fixture.server.requests.empty());
        }
    }
}

TEST_CASE("objects outside of --namespaces are denied with the remedy", "[review]") {
    Fixture fixture({}, kube::Namespaces({"a", "b"}));
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    const auto ask = [&](const std::string& path, Json object, const std::string& ns, const char* operation) {
        if (!ns.empty()) object["metadata"]["namespace"] = ns;
        const Json old = operation == std::string("CREATE") ? Json() : object;
        return fixture.ask(
            post(path, review(operation, operation == std::string("DELETE") ? Json() : object, old)));
    };
    const auto train_job = test::train_job();
    const auto runtime = test::namespaced_runtime();
    for (const char* ns : {"a", "b"}) {
        CHECK(ask(test::train_job_path, train_job, ns, "CREATE").allowed());
        CHECK(ask(test::mutate_path, train_job, ns, "CREATE").allowed());
        CHECK(ask(test::runtime_path, runtime, ns, "UPDATE").allowed());
    }
    CHECK(ask(test::cluster_runtime_path, test::cluster_runtime(), "", "CREATE").allowed());
    CHECK(ask(test::train_job_path, train_job, "c", "DELETE").allowed());

    fixture.server.requests.clear();
    const std::pair<const std::string&, const Json&> writes[] = {
        {test::train_job_path, train_job}, {test::mutate_path, train_job}, {test::runtime_path, runtime}};
    for (const auto& [path, object] : writes)
        for (const char* operation : {"CREATE", "UPDATE"}) {
            const Reply reply = ask(path, object, "c", operation);
            CHECK(reply.denial_code() == 400);
            CHECK_THAT(reply.message(),
                       Catch::StartsWith("this webhook watches a, b and cannot read in \"c\": ") &&
                           Catch::Contains("--namespaces") && Catch::Contains("namespaceSelector"));
        }
    CHECK(fixture.server.requests.empty());
}

TEST_CASE("objects that the webhook does not validate are allowed", "[review]") {
    struct Case {
        const char* name;
        void (*change)(Json& request);
    };
    const Case cases[] = {
        {"DELETE",
         [](Json& r) {
             r["operation"] = "DELETE";
             r["oldObject"] = r["object"];
             r["object"] = nullptr;
         }},
        {"CONNECT", [](Json& r) { r["operation"] = "CONNECT"; }},
        {"a subresource", [](Json& r) { r["subResource"] = "status"; }},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            Json body = review("CREATE", test::train_job());  // its runtime does not exist
            c.change(body["request"]);
            const Reply reply = fixture.ask(post(test::train_job_path, body));
            CHECK(reply.allowed());
            CHECK(reply.response["status"].is_null());
            CHECK(fixture.server.requests.empty());
        }
    }
}

TEST_CASE("a TrainJob is reviewed at once if its runtime is in the cache", "[review]") {
    Fixture fixture;
    fixture.runtimes.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
    bool at_once = false;
    const Reply reply = fixture.ask(valid_request(), at_once);
    CHECK(at_once);
    CHECK(reply.http.body == R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                             R"("response":{"uid":"review-1","allowed":true}})");
    CHECK(net::header(reply.http.headers, "Content-Type") == "application/json");
    CHECK(fixture.server.requests.empty());
    CHECK_THAT(fixture.metrics_text(),
               Catch::Contains(R"(code="200",path=")" + test::train_job_path + R"(",verdict="allowed"} 1)"));
}

TEST_CASE("an expensive review waits in line, a small one is answered at once", "[review]") {
    Fixture fixture;
    Json large = test::cluster_runtime("large");
    large["spec"]["x"] = Json(Json::Array(20'000, Json("")));
    fixture.runtimes.set({"", "large"}, admission::make_runtime_text(large));
    fixture.runtimes.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
    Json of_large = test::train_job();
    of_large["spec"]["runtimeRef"]["name"] = "large";
    const auto by_runtime = post(test::train_job_path, review("CREATE", of_large));
    auto by_bytes = valid_request();
    by_bytes.body += std::string(70'000, ' ');

    bool at_once = true;
    for (const net::HttpRequest& dear : {by_runtime, by_bytes}) {
        CHECK(fixture.ask(dear, at_once).allowed());
        CHECK_FALSE(at_once);
    }
    admission::MaybeTurn taken;
    boost::asio::co_spawn(fixture.context, admission::take_turn(fixture.turns.expensive, taken),
                          boost::asio::detached);
    fixture.clock.run();
    REQUIRE(taken);
    CHECK(fixture.ask(valid_request(), at_once).allowed());
    CHECK(at_once);
    // A verdict after the request's timeout is of no use.
    auto late = by_runtime;
    net::HttpResponse response;
    boost::asio::co_spawn(fixture.context, fixture.handler(late),
                          [&](std::exception_ptr, net::HttpResponse given) { response = std::move(given); });
    fixture.clock.run_for(60s);
    CHECK(response.body.empty());
    taken = {};
    fixture.clock.run();
    CHECK(response.status == 503);
    CHECK(response.body == "too many large reviews at a time, try again\n");
}

TEST_CASE("values reserved for a feature are refused while its gate is on", "[review]") {
    Json job = test::train_job();
    job["spec"]["trainer"]["env"] =
        api::parse_json(R"([{"name": "KUBEFLOW_TRAINER_SERVER_URL", "value": "https://elsewhere"}])").value();
    for (const bool on : {false, true}) {
        runtime::Features features;
        if (on) features.status_server.emplace();
        Fixture fixture(features);
        fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
        const Reply reply = fixture.ask(post(test::train_job_path, review("CREATE", job)));
        CHECK(reply.allowed() != on);
        const std::vector<std::string> causes = reply.causes();
        CHECK(causes ==
              (on ? std::vector<std::string>{"spec.trainer.env[0]: Forbidden"} : std::vector<std::string>{}));
    }
}

TEST_CASE("a runtime that is not in the cache is read from the API server", "[review]") {
    Fixture fixture;
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    bool at_once = true;
    CHECK(fixture.ask(valid_request(), at_once).allowed());
    CHECK_FALSE(at_once);
    CHECK(fixture.server.requests.size() == 1);
}

TEST_CASE("a TrainJob is denied if its runtime does not exist", "[review]") {
    Fixture fixture;
    const Reply reply = fixture.ask(valid_request());
    CHECK(reply.denial_code() == 422);
    CHECK(reply.causes() == std::vector<std::string>{"spec.runtimeRef: Invalid value"});
    CHECK_THAT(reply.message(), Catch::StartsWith("TrainJob.trainer.kubeflow.org \"job\" is invalid: "));
    CHECK_THAT(fixture.metrics_text(),
               Catch::Contains(R"(signalbox_admission_causes_total{path=")" + test::train_job_path +
                               R"(",reason="FieldValueInvalid"} 1)"));
    CAPTURE(fixture.log_text);
    CHECK(fixture.log_text.empty());
}

TEST_CASE("while lookups fail there is no verdict, and the log has the failure once", "[review]") {
    struct Case {
        const char* name;
        api::Error error;
    };
    const Case cases[] = {
        {"forbidden", refusal(403, api::Errc::forbidden, "RBAC says no")},
        {"broken", refusal(500, api::Errc::internal, "etcd is gone")},
        {"unreachable", refusal(0, api::Errc::unavailable, "connection refused")},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            const auto works = fixture.server.answer;
            fixture.server.answer = [&](const kube::Request&) -> api::Result<kube::Response> {
                return c.error;
            };
            for (int i = 0; i < 3; ++i) {
                const Reply reply = fixture.ask(valid_request());
                CHECK_FALSE(reply.allowed());
                CHECK(reply.denial_code() == 503);
                CHECK(reply.response["status"]["reason"].as_string() == "ServiceUnavailable");
                // Any client can read the answer, so it has no text of the API server.
                CHECK(reply.message() ==
                      "what this is judged by could not be read from the API server: try again; if that does "
                      "not help, the log of signalbox-webhook says why");
            }
            CHECK_THAT(fixture.log_text, Catch::Contains("clustertrainingruntimes") &&
                                             Catch::Contains("plain") && Catch::Contains(c.error.message));
            fixture.server.answer = works;
            fixture.clock.run_for(1min);
            CHECK(fixture.ask(valid_request()).denial_code() == 422);
            CHECK(std::count(fixture.log_text.begin(), fixture.log_text.end(), '\n') == 2);
        }
    }
}

TEST_CASE("lookups that fail and succeed in turn are logged once a minute", "[review]") {
    Fixture fixture;
    fixture.patience = 0s;
    const auto works = fixture.server.answer;
    for (int i = 0; i < 600; ++i) {
        fixture.server.answer = works;
        if (i % 2 == 0)
            fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
                return refusal(500, api::Errc::internal, "etcd is gone");
            };
        CHECK(fixture.ask(valid_request()).denial_code() == (i % 2 == 0 ? 503 : 422));
        fixture.clock.run_for(500ms);
    }
    const auto lines = std::ranges::count(fixture.log_text, '\n');
    CHECK(lines >= 2);
    CHECK(lines <= 6);
}

TEST_CASE("a lookup that takes too long ends within its time limit", "[review]") {
    struct Case {
        std::chrono::milliseconds delay;
        const char* query;
        int want;  // code of the denial; 0: allowed
    };
    const Case cases[] = {
        {8900ms, "", 0},
        {9100ms, "", 503},
        {3900ms, "?timeout=5s", 0},
        {28900ms, "?timeout=30s", 0},
        {29100ms, "?timeout=30s", 503},
        {400ms, "?timeout=1s", 0},
        {600ms, "?timeout=1s", 503},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.delay.count() << " ms with \"" << c.query << "\"") {
            Fixture fixture;
            fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            fixture.server.delay = c.delay;
            net::HttpRequest request = valid_request();
            request.target = test::train_job_path + c.query;
            const Reply reply = fixture.ask(std::move(request));
            CHECK(reply.denial_code() == c.want);
            CHECK(reply.allowed() == (c.want == 0));
            CHECK(fixture.clock.sleepers() == 0);
        }
    }
}

TEST_CASE("the time limit is that of the query", "[review]") {
    struct Case {
        const char* target;
        std::chrono::milliseconds want;
    };
    const Case cases[] = {
        {"/x", 9s},
        {"/x?timeout=10s", 9s},
        {"/x?timeout=30s", 29s},
        {"/x?timeout=2s", 1s},
        {"/x?timeout=1s", 500ms},
        {"/x?timeout=0s", 500ms},
        {"/x?timeout=1m", 29s},
        {"/x?timeout=soon", 9s},
        {"/x?timeout=", 9s},
        {"/x?timeout=-5s", 9s},
        {"/x?a=b&timeout=5s", 4s},
        {"/x?mytimeout=5s", 9s},
        {"/x?timeout=5s&timeout=20s", 4s},
        {"/x?", 9s},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.target) { CHECK(admission::lookup_timeout(c.target) == c.want); }
    }
}

TEST_CASE("the mutating path answers with a patch, or with none", "[review]") {
    Fixture fixture;
    Json job = test::train_job();
    CHECK(fixture.ask(post(test::mutate_path, review("CREATE", job))).response ==
          Json::object({{"uid", "review-1"}, {"allowed", true}}));

    job["spec"]["runtimePatches"] = Json::array({Json::object({{"manager", "acme.io/team"}})});
    const Reply reply = fixture.ask(post(test::mutate_path, review("CREATE", job)));
    CHECK(reply.allowed());
    CHECK(reply.response["patchType"].as_string() == "JSONPatch");
    CHECK(api::from_base64(reply.response["patch"].as_string()).value() ==
          R"([{"op":"add","path":"/spec/runtimePatches/0/time","value":"2026-01-15T00:00:00Z"}])");

    job["spec"]["runtimePatches"] = "foo";
    CHECK(fixture.ask(post(test::mutate_path, review("CREATE", job))).response ==
          Json::object({{"uid", "review-1"}, {"allowed", true}}));
    CHECK(fixture.server.requests.empty());
}

TEST_CASE("runtimes are validated on their own", "[review]") {
    Fixture fixture;
    Json runtime = test::namespaced_runtime();
    CHECK(fixture.ask(post(test::runtime_path, review("CREATE", runtime))).allowed());
    runtime["spec"]["template"]["spec"]["replicatedJobs"].items()[0]["replicas"] = 2;
    const Reply reply = fixture.ask(post(test::runtime_path, review("CREATE", runtime)));
    CHECK(reply.denial_code() == 422);
    CHECK(reply.causes() ==
          std::vector<std::string>{"spec.template.spec.replicatedJobs[0].replicas: Invalid value"});
}

TEST_CASE("an object of any shape gets an answer", "[review]") {
    for (const char* spec : {"null", "7", "\"x\"", "[]", "{\"runtimeRef\":[]}",
                             "{\"runtimeRef\":{\"name\":7}}", "{\"runtimeRef\":{\"name\":\"\"}}",
                             "{\"runtimeRef\":{\"name\":\"plain\"},\"trainer\":[],\"initializer\":7}",
                             "{\"runtimeRef\":{\"name\":\"plain\"},\"runtimePatches\":[1,null,{}]}"}) {
        DYNAMIC_SECTION(spec) {
            Fixture fixture;
            fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            Json job = test::train_job();
            job["spec"] = *api::parse_json(spec);
            for (const std::string& path : {test::mutate_path, test::train_job_path}) {
                CHECK(fixture.ask(post(path, review("CREATE", job))).response["uid"].as_string() ==
                      "review-1");
                CHECK(fixture.ask(post(path, review("UPDATE", job, test::train_job())))
                          .response["uid"]
                          .as_string() == "review-1");
            }
        }
    }
}

TEST_CASE("an exception of a lookup is counted and goes to the server", "[review]") {
    Fixture fixture;
    fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
        throw std::runtime_error("a bug");
    };
    CHECK_THROWS_WITH(fixture.ask(valid_request()), Catch::Contains("a bug"));
    CHECK_THAT(fixture.metrics_text(),
               Catch::Contains(R"(code="500",path=")" + test::train_job_path + R"(",verdict="none"} 1)"));
}

TEST_CASE("at level debug every review is a log line with the TrainJob and its UID", "[review]") {
    Fixture fixture;
    fixture.log = net::Log(net::LogLevel::debug, net::LogFormat::text,
                           [&](std::string_view line) { fixture.log_text += line; });
    fixture.ask(valid_request());
    CHECK_THAT(fixture.log_text, Catch::Contains("reviewed") && Catch::Contains("operation=CREATE") &&
                                     Catch::Contains("trainjob=ns/job  uid=job-uid  review=review-1") &&
                                     Catch::Contains("allowed=false"));
    fixture.log_text.clear();
    fixture.ask(post(test::train_job_path, review("DELETE", Json(), test::train_job())));
    CHECK_THAT(fixture.log_text, Catch::Contains("operation=DELETE") && Catch::Contains("uid=job-uid") &&
                                     Catch::Contains("allowed=true"));
}
