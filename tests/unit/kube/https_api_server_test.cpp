#include "kube/client/https_api_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <deque>
#include <map>

#include "recording_sink.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

using namespace std::chrono_literals;
using api::Errc;

namespace {

class FakeStream final : public net::ByteStream {
public:
    explicit FakeStream(std::deque<api::Result<std::string>> pieces) : pieces_(std::move(pieces)) {}
    net::Async<std::string> read() override {
        if (pieces_.empty()) co_return std::string();
        auto piece = std::move(pieces_.front());
        pieces_.pop_front();
        co_return piece;
    }

private:
    std::deque<api::Result<std::string>> pieces_;
};

struct Wire {
    std::deque<api::Result<net::HttpResponse>> answers;
    std::deque<api::Result<std::string>> stream;
    std::vector<net::HttpRequest> requests;
    std::vector<std::string> reconfigured;  // CAs
    std::chrono::seconds idle_timeout{0};
    std::function<void()> on_request = [] {};

    api::Result<net::HttpResponse> next() {
        if (answers.empty()) return net::HttpResponse{};
        auto answer = std::move(answers.front());
        answers.pop_front();
        return answer;
    }
};

class FakeClient final : public net::HttpClient {
public:
    explicit FakeClient(Wire& wire) : wire_(wire) {}
    net::Async<net::HttpResponse> send(net::HttpRequest request, std::size_t) override {
        wire_.requests.push_back(std::move(request));
        wire_.on_request();
        co_return wire_.next();
    }
    net::Async<Opened> open(net::HttpRequest request, std::chrono::seconds idle_timeout) override {
        wire_.requests.push_back(std::move(request));
        wire_.on_request();
        wire_.idle_timeout = idle_timeout;
        auto answer = wire_.next();
        if (!answer) co_return answer.error();
        Opened opened;
        opened.response = std::move(*answer);
        if (opened.response.status == 200)
            opened.stream = std::make_unique<FakeStream>(std::move(wire_.stream));
        co_return std::move(opened);
    }
    api::Result<> reconfigure(net::ClientConfig config) override {
        wire_.reconfigured.push_back(config.ca_pem);
        if (config.ca_pem.find("half") != std::string::npos) return api::invalid("CA", "only half of it");
        return {};
    }

private:
    Wire& wire_;
};

struct Fixture {
    boost::asio::io_context context;
    VirtualClock clock{context};
    Wire wire;
    std::map<std::string, std::string> files = {{"ca", "-----BEGIN 1"}, {"token", "t1"}};
    std::vector<std::string> reported;
    std::vector<kube::DatedAnswer> dated;
    std::unique_ptr<kube::ApiServer> server;

    Fixture() {
        kube::Credentials credentials({.host = "h",
                                       .port = "1",
                                       .base_path = "/base",
                                       .ca = {.file = "ca"},
                                       .token = {.file = "token"}},
                                      [this](const std::string& path) -> api::Result<std::string> {
                                          if (files.contains(path)) return files[path];
                                          return api::Error{.code = Errc::not_found,
                                                            .message = path + " does not exist"};
                                      });
        REQUIRE(credentials.refresh(clock.now()));
        server = kube::make_https_api_server(
            std::make_unique<FakeClient>(wire), std::move(credentials), clock,
            {.on_warning = [this](const std::string& text) { reported.push_back("warning " + text); },
             .on_problem = [this](const std::string& text) { reported.push_back("problem " + text); },
             .on_answer =
                 [this](std::string_view verb, const std::string& resource, int status) {
                     reported.push_back(std::string(verb) + (resource.empty() ? " " : " " + resource + " ") +
                                        std::to_string(status));
                 },
             .on_forbidden =
                 [this](const api::Error& error) { reported.push_back("forbidden " + error.message); },
             .on_dated_answer = [this](const kube::DatedAnswer& answer) { dated.push_back(answer); }});
    }

    template <class T>
    api::Result<T> await(kube::Async<T> operation) {
        std::optional<api::Result<T>> result;
        boost::asio::co_spawn(context, std::move(operation),
                              [&](std::exception_ptr failed, api::Result<T> got) {
                                  if (failed) std::rethrow_exception(failed);
                                  result = std::move(got);
                              });
        clock.run();
        REQUIRE(result);
        return std::move(*result);
    }
    api::Result<kube::Response> send(kube::Request request = {.target = "/x"}) {
        return await(server->send(std::move(request)));
    }
    std::string header(const std::string& name) {
        return std::string(net::header(wire.requests.back().headers, name));
    }
    Reports take() { return std::exchange(reported, {}); }
};

}  // namespace

TEST_CASE("a request has the user agent and its own headers", "[kube]") {
    Fixture fixture;
    fixture.wire.answers.push_back(net::HttpResponse{.status = 201, .body = "{}"});
    const auto response = fixture.send(
        {.method = "PATCH", .target = "/x?y=z", .content_type = "application/apply-patch+yaml", .body = "b"});
    REQUIRE(response);
    CHECK(response->status == 201);
    CHECK(response->body == "{}");
    const auto& request = fixture.wire.requests.back();
    CHECK(request.method == "PATCH");
    CHECK(request.target == "/base/x?y=z");
    CHECK(request.body == "b");
    CHECK(fixture.header("Authorization") == "Bearer t1");
    CHECK(fixture.header("Content-Type") == "application/apply-patch+yaml");
    CHECK(fixture.header("Accept") == "application/json");
    CHECK(fixture.header("User-Agent").starts_with("signalbox/"));
    CHECK(fixture.reported == Reports{"PATCH 201"});
}

TEST_CASE("error statuses and broken connections are errors", "[kube]") {
    Fixture fixture;
    fixture.wire.answers = {
        net::HttpResponse{.status = 404,
                          .body = R"({"kind":"Status","message":"gone fishing","reason":"NotFound"})"},
        api::Error{.code = Errc::unavailable, .message = "reset"}};
    const auto refused = fixture.send();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == Errc::not_found);
    CHECK(refused.error().message == "gone fishing");
    const auto broken = fixture.send();
    REQUIRE(broken.has_error());
    CHECK(broken.error().code == Errc::unavailable);
    CHECK(fixture.reported == Reports{"GET 404", "GET 0"});
}

TEST_CASE("a missing permission is distinguished from other refusals", "[kube]") {
    Fixture fixture;
    const std::string rbac =
        R"({"kind":"Status","code":403,"message":"User \"u\" cannot list resource \"secrets\" in API group \"\""})";
    fixture.wire.answers = {net::HttpResponse{.status = 403, .body = rbac},
                            net::HttpResponse{.status = 403, .body = "quota"},
                            net::HttpResponse{.status = 403, .body = rbac}};
    const kube::Request request = {.target = "/api/v1/secrets"};
    CHECK(!fixture.await(fixture.server->send(request)));
    CHECK(!fixture.await(fixture.server->send(request)));
    CHECK(!fixture.await(fixture.server->watch(request)));
    const std::string said = "forbidden User \"u\" cannot list resource \"secrets\" in API group \"\"";
    CHECK(fixture.reported == Reports{"GET secrets 403", said, "GET secrets 403", "WATCH secrets 403", said});
}

TEST_CASE("a 401 makes the client read the token again", "[kube]") {
    Fixture fixture;
    SECTION("and send the request once more if the token has changed") {
        fixture.wire.answers = {net::HttpResponse{.status = 401}, net::HttpResponse{.status = 200}};
        fixture.files["token"] = "t2";
        CHECK(fixture.send());
        CHECK(fixture.wire.requests.size() == 2);
        CHECK(fixture.header("Authorization") == "Bearer t2");
        CHECK(fixture.reported == Reports{"GET 401", "GET 200"});
    }
    SECTION("only once") {
        fixture.wire.answers = {net::HttpResponse{.status = 401}, net::HttpResponse{.status = 401},
                                net::HttpResponse{.status = 200}};
        fixture.files["token"] = "t2";
        CHECK(fixture.send().error().code == Errc::unauthorized);
        CHECK(fixture.wire.requests.size() == 2);
    }
    SECTION("and not when it is the same") {
        fixture.wire.answers = {net::HttpResponse{.status = 401}};
        CHECK(fixture.send().error().code == Errc::unauthorized);
        CHECK(fixture.wire.requests.size() == 1);
    }
    SECTION("for a watch as well") {
        fixture.wire.answers = {net::HttpResponse{.status = 401}, net::HttpResponse{.status = 200}};
        fixture.files["token"] = "t2";
        kube::Request request = {.target = "/w"};
        CHECK(fixture.await(fixture.server->watch(request)));
        CHECK(fixture.reported == Reports{"WATCH 401", "WATCH 200"});
    }
}

namespace {

// A server whose user has a plugin that prints one token after the other; "" fails.
struct PluginFixture {
    boost::asio::io_context context;
    VirtualClock clock{context};
    Wire wire;
    std::deque<std::string> tokens = {"t1", "t2"};
    std::unique_ptr<kube::ApiServer> server;

    PluginFixture() {
        const kube::ExecPlugin plugin = {.api_version = "client.authentication.k8s.io/v1",
                                         .command = "login"};
        kube::Credentials credentials(
            {.host = "h", .port = "1", .exec = plugin, .as = {.user = "other"}}, {},
            {.run = [this](const kube::ExecPlugin&, const std::string&, bool) -> api::Result<std::string> {
                 const std::string token = tokens.empty() ? "" : tokens.front();
                 if (!tokens.empty()) tokens.pop_front();
                 if (token.empty()) return api::invalid("", "failed");
                 return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
                        R"("status":{"token":")" +
                        token + R"("}})";
             },
             .wall = [this] { return clock.wall(); }});
        REQUIRE(credentials.refresh(clock.now()));
        server =
            kube::make_https_api_server(std::make_unique<FakeClient>(wire), std::move(credentials), clock);
    }

    api::Result<kube::Response> send() {
        std::optional<api::Result<kube::Response>> response;
        kube::Request request = {.target = "/x"};
        boost::asio::co_spawn(
            context, server->send(std::move(request)),
            [&](std::exception_ptr, api::Result<kube::Response> got) { response = std::move(got); });
        clock.run();
        REQUIRE(response);
        return std::move(*response);
    }
    std::vector<std::string> authorizations() const {
        std::vector<std::string> sent;
        for (const auto& request : wire.requests)
            sent.emplace_back(net::header(request.headers, "Authorization"));
        return sent;
    }
};

}  // namespace

TEST_CASE("a 401 makes a plugin run again, once", "[kube]") {
    PluginFixture fixture;
    const auto refused = net::HttpResponse{.status = 401};
    SECTION("and its new token is tried") {
        fixture.wire.answers = {refused};
        CHECK(fixture.send());
        CHECK(fixture.authorizations() == std::vector<std::string>{"Bearer t1", "Bearer t2"});
        CHECK(net::header(fixture.wire.requests.front().headers, "Impersonate-User") == "other");
    }
    SECTION("and the answer to that counts") {
        fixture.wire.answers = {refused, refused};
        CHECK(fixture.send().error().code == Errc::unauthorized);
        CHECK(fixture.wire.requests.size() == 2);
    }
    SECTION("and not when it gives the same") {
        fixture.tokens = {"t1"};
        fixture.wire.answers = {refused};
        CHECK(fixture.send().error().code == Errc::unauthorized);
        CHECK(fixture.wire.requests.size() == 1);
    }
    SECTION("and users see its failure as long as it lasts") {
        fixture.tokens = {"", "", "t3"};
        fixture.wire.answers = {refused};
        CHECK(fixture.send().error().message == "the credential plugin login failed");
        CHECK(fixture.send().error().message == "the credential plugin login failed");
        CHECK(fixture.wire.requests.size() == 1);
        CHECK(fixture.send());
        CHECK(fixture.authorizations() == std::vector<std::string>{"Bearer t1", "Bearer t3"});
    }
    SECTION("and not for a request without an answer") {
        fixture.wire.answers = {api::Error{.code = Errc::unavailable, .message = "reset"}};
        CHECK(!fixture.send());
        fixture.clock.run_for(5s);
        CHECK(fixture.send());
        CHECK(fixture.authorizations() == std::vector<std::string>{"Bearer t1", "Bearer t1"});
    }
}

TEST_CASE("changed files are used", "[kube]") {
    Fixture fixture;
    fixture.files["token"] = "t2";
    fixture.files["ca"] = "-----BEGIN 2";
    fixture.send();
    CHECK(fixture.header("Authorization") == "Bearer t1");
    fixture.clock.run_for(60s);
    fixture.send();
    CHECK(fixture.header("Authorization") == "Bearer t2");
    CHECK(fixture.wire.reconfigured == Reports{"-----BEGIN 2"});
    fixture.take();

    fixture.files.erase("token");
    for (int i = 0; i < 3; ++i) {
        fixture.clock.run_for(60s);
        fixture.send();
    }
    CHECK(fixture.header("Authorization") == "Bearer t2");
    CHECK(fixture.take() == Reports{"problem token does not exist", "GET 200", "GET 200", "GET 200"});
    fixture.files["token"] = "t3";
    fixture.clock.run_for(60s);
    fixture.send();
    CHECK(fixture.header("Authorization") == "Bearer t3");
    CHECK(fixture.take() == Reports{"GET 200"});
}

TEST_CASE("certificates are checked every second while requests get no answer", "[kube]") {
    Fixture fixture;
    fixture.send();
    fixture.files["ca"] = "-----BEGIN 2";
    fixture.clock.run_for(2s);
    fixture.send();
    CHECK(fixture.wire.reconfigured.empty());
    const api::Error untrusted = {.code = Errc::unavailable, .message = "the certificate is not trusted"};
    fixture.wire.answers = {untrusted};
    fixture.send();
    fixture.send();
    CHECK(fixture.wire.reconfigured == Reports{"-----BEGIN 2"});
    fixture.files["ca"] = "-----BEGIN 3";
    fixture.clock.run_for(2s);
    fixture.send();
    CHECK(fixture.wire.reconfigured.size() == 1);
}

TEST_CASE("certificates that cannot be used are reported, and read again soon", "[kube]") {
    Fixture fixture;
    fixture.files["ca"] = "-----BEGIN half";
    fixture.clock.run_for(60s);
    fixture.send();
    CHECK(fixture.take() == Reports{"problem CA: only half of it", "GET 200"});
    fixture.clock.run_for(2s);
    fixture.send();
    fixture.files["ca"] = "-----BEGIN whole";
    fixture.clock.run_for(2s);
    fixture.send();
    CHECK(fixture.wire.reconfigured == Reports{"-----BEGIN half", "-----BEGIN whole"});
    CHECK(fixture.take() == Reports{"GET 200", "GET 200"});
    fixture.clock.run_for(60s);
    fixture.send();
    CHECK(fixture.take() == Reports{"GET 200"});
}

TEST_CASE("each warning is logged once", "[kube]") {
    Fixture fixture;
    const net::HttpResponse warned = {.headers = {{"Warning", "299 - \"old\""}}};
    fixture.wire.answers = {warned, warned, net::HttpResponse{.headers = {{"Warning", "299 - \"older\""}}}};
    for (int i = 0; i < 3; ++i) fixture.send();
    CHECK(fixture.reported == Reports{"GET 200", "warning old", "GET 200", "GET 200", "warning older"});
}

TEST_CASE("each answer with a date is reported with its round trip, whatever its status", "[kube]") {
    Fixture fixture;
    const auto dated = [](int status) {
        return net::HttpResponse{.status = status, .headers = {{"date", "Mon, 23 Nov 2026 10:00:00 GMT"}}};
    };
    fixture.wire.answers = {dated(200), dated(500), dated(200), net::HttpResponse{},
                            api::Error{.code = Errc::unavailable, .message = "reset"}};
    fixture.wire.on_request = [&] { fixture.clock.freeze_for(120ms); };
    fixture.send();
    fixture.send();
    REQUIRE(fixture.await(fixture.server->watch({.target = "/w"})));
    fixture.send();
    fixture.send();
    REQUIRE(fixture.dated.size() == 3);
    for (const kube::DatedAnswer& answer : fixture.dated) {
        CHECK(answer.came == VirtualClock::start + 120ms);
        CHECK(answer.wall == VirtualClock::wall_start + 120ms);
        CHECK(answer.round_trip == 120ms);
    }
}

TEST_CASE("a watch returns whole lines", "[kube]") {
    Fixture fixture;
    const kube::Request request = {.target = "/w", .accept = "special", .idle_timeout = 77s};
    SECTION("however they arrive") {
        fixture.wire.stream = {std::string("on"), std::string("e\ntwo\n\nth"), std::string("ree\nhalf")};
        auto watch = fixture.await(fixture.server->watch(request));
        REQUIRE(watch);
        CHECK(fixture.wire.idle_timeout == 77s);
        CHECK(fixture.header("Accept") == "special");
        for (const char* want : {"one", "two", "three", "", ""}) {
            const auto line = fixture.await((*watch)->next());
            REQUIRE(line);
            CHECK(*line == want);
        }
    }
    SECTION("until the connection breaks") {
        fixture.wire.stream = {std::string("one\nha"),
                               api::Error{.code = Errc::unavailable, .message = "reset"}};
        auto watch = fixture.await(fixture.server->watch(request));
        REQUIRE(watch);
        CHECK(*fixture.await((*watch)->next()) == "one");
        CHECK(fixture.await((*watch)->next()).error().code == Errc::unavailable);
    }
    SECTION("unless it is refused") {
        fixture.wire.answers = {net::HttpResponse{.status = 410, .body = "{}"}};
        CHECK(fixture.await(fixture.server->watch(request)).error().code == Errc::gone);
    }
}

TEST_CASE("fetch() parses, and its error names the request with the broken answer", "[kube]") {
    Fixture fixture;
    fixture.wire.answers = {net::HttpResponse{.body = R"({"a":1})"}, net::HttpResponse{.body = "{"},
                            net::HttpResponse{.status = 404}};
    const kube::Request request = {.target = "/x"};
    const auto good = fixture.await(kube::fetch(*fixture.server, request));
    REQUIRE(good);
    CHECK(*good == api::Json::object({{"a", 1}}));
    const auto broken = fixture.await(kube::fetch(*fixture.server, request));
    REQUIRE(broken.has_error());
    CHECK(broken.error().code == Errc::internal);
    CHECK_THAT(broken.error().message, Catch::Contains("GET /x"));
    CHECK(fixture.await(kube::fetch(*fixture.server, request)).error().code == Errc::not_found);
}

TEST_CASE("broken credentials prevent the start", "[kube]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    const auto server = kube::make_https_api_server(
        context.get_executor(), clock,
        {.host = "h", .port = "1", .ca = {.file = "/nonexistent/ca.crt"}, .source = "kubeconfig f"});
    REQUIRE(server.has_error());
    CHECK_THAT(server.error().message,
               Catch::StartsWith("kubeconfig f: ") && Catch::Contains("/nonexistent/ca.crt"));
}
