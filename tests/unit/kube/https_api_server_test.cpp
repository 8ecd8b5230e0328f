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

struct Room {
    boost::asio::io_context context;
    VirtualClock clock{context};
    Wire wire;
    std::map<std::string, std::string> files = {{"ca", "-----BEGIN 1"}, {"token", "t1"}};
    std::vector<std::string> told;
    std::vector<kube::DatedAnswer> dated;
    std::unique_ptr<kube::ApiServer> server;

    Room() {
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
            {.on_warning = [this](const std::string& text) { told.push_back("warning " + text); },
             .on_problem = [this](const std::string& text) { told.push_back("problem " + text); },
             .on_answer =
                 [this](std::string_view verb, const std::string& resource, int status) {
                     told.push_back(std::string(verb) + (resource.empty() ? " " : " " + resource + " ") +
                                    std::to_string(status));
                 },
             .on_forbidden =
                 [this](const api::Error& error) { told.push_back("forbidden " + error.message); },
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
    Told take() { return std::exchange(told, {}); }
};

}  // namespace

TEST_CASE("a request has the user agent and its own headers", "[kube]") {
    Room room;
    room.wire.answers.push_back(net::HttpResponse{.status = 201, .body = "{}"});
    const auto response = room.send(
        {.method = "PATCH", .target = "/x?y=z", .content_type = "application/apply-patch+yaml", .body = "b"});
    REQUIRE(response);
    CHECK(response->status == 201);
    CHECK(response->body == "{}");
    const auto& request = room.wire.requests.back();
    CHECK(request.method == "PATCH");
    CHECK(request.target == "/base/x?y=z");
    CHECK(request.body == "b");
    CHECK(room.header("Authorization") == "Bearer t1");
    CHECK(room.header("Content-Type") == "application/apply-patch+yaml");
    CHECK(room.header("Accept") == "application/json");
    CHECK(room.header("User-Agent").starts_with("signalbox/"));
    CHECK(room.told == Told{"PATCH 201"});
}

TEST_CASE("error statuses and broken connections are errors", "[kube]") {
    Room room;
    room.wire.answers = {
        net::HttpResponse{.status = 404,
                          .body = R"({"kind":"Status","message":"gone fishing","reason":"NotFound"})"},
        api::Error{.code = Errc::unavailable, .message = "reset"}};
    const auto refused = room.send();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == Errc::not_found);
    CHECK(refused.error().message == "gone fishing");
    const auto broken = room.send();
    REQUIRE(broken.has_error());
    CHECK(broken.error().code == Errc::unavailable);
    CHECK(room.told == Told{"GET 404", "GET 0"});
}

TEST_CASE("a missing permission is distinguished from other refusals", "[kube]") {
    Room room;
    const std::string rbac =
        R"({"kind":"Status","code":403,"message":"User \"u\" cannot list resource \"secrets\" in API group \"\""})";
    room.wire.answers = {net::HttpResponse{.status = 403, .body = rbac},
                         net::HttpResponse{.status = 403, .body = "quota"},
                         net::HttpResponse{.status = 403, .body = rbac}};
    const kube::Request request = {.target = "/api/v1/secrets"};
    CHECK(!room.await(room.server->send(request)));
    CHECK(!room.await(room.server->send(request)));
    CHECK(!room.await(room.server->watch(request)));
    const std::string said = "forbidden User \"u\" cannot list resource \"secrets\" in API group \"\"";
    CHECK(room.told == Told{"GET secrets 403", said, "GET secrets 403", "WATCH secrets 403", said});
}

TEST_CASE("a 401 makes the client read the token again", "[kube]") {
    Room room;
    SECTION("and send the request once more if the token has changed") {
        room.wire.answers = {net::HttpResponse{.status = 401}, net::HttpResponse{.status = 200}};
        room.files["token"] = "t2";
        CHECK(room.send());
        CHECK(room.wire.requests.size() == 2);
        CHECK(room.header("Authorization") == "Bearer t2");
        CHECK(room.told == Told{"GET 401", "GET 200"});
    }
    SECTION("only once") {
        room.wire.answers = {net::HttpResponse{.status = 401}, net::HttpResponse{.status = 401},
                             net::HttpResponse{.status = 200}};
        room.files["token"] = "t2";
        CHECK(room.send().error().code == Errc::unauthorized);
        CHECK(room.wire.requests.size() == 2);
    }
    SECTION("and not when it is the same") {
        room.wire.answers = {net::HttpResponse{.status = 401}};
        CHECK(room.send().error().code == Errc::unauthorized);
        CHECK(room.wire.requests.size() == 1);
    }
    SECTION("for a watch as well") {
        room.wire.answers = {net::HttpResponse{.status = 401}, net::HttpResponse{.status = 200}};
        room.files["token"] = "t2";
        kube::Request request = {.target = "/w"};
        CHECK(room.await(room.server->watch(request)));
        CHECK(room.told == Told{"WATCH 401", "WATCH 200"});
    }
}

namespace {

// A server whose user has a plugin that prints one token after the other; "" fails.
struct PluginRoom {
    boost::asio::io_context context;
    VirtualClock clock{context};
    Wire wire;
    std::deque<std::string> tokens = {"t1", "t2"};
    std::unique_ptr<kube::ApiServer> server;

    PluginRoom() {
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
    PluginRoom room;
    const auto refused = net::HttpResponse{.status = 401};
    SECTION("and its new token is tried") {
        room.wire.answers = {refused};
        CHECK(room.send());
        CHECK(room.authorizations() == std::vector<std::string>{"Bearer t1", "Bearer t2"});
        CHECK(net::header(room.wire.requests.front().headers, "Impersonate-User") == "other");
    }
    SECTION("and the answer to that counts") {
        room.wire.answers = {refused, refused};
        CHECK(room.send().error().code == Errc::unauthorized);
        CHECK(room.wire.requests.size() == 2);
    }
    SECTION("and not when it gives the same") {
        room.tokens = {"t1"};
        room.wire.answers = {refused};
        CHECK(room.send().error().code == Errc::unauthorized);
        CHECK(room.wire.requests.size() == 1);
    }
    SECTION("and users see its failure as long as it lasts") {
        room.tokens = {"", "", "t3"};
        room.wire.answers = {refused};
        CHECK(room.send().error().message == "the credential plugin login failed");
        CHECK(room.send().error().message == "the credential plugin login failed");
        CHECK(room.wire.requests.size() == 1);
        CHECK(room.send());
        CHECK(room.authorizations() == std::vector<std::string>{"Bearer t1", "Bearer t3"});
    }
    SECTION("and not for a request without an answer") {
        room.wire.answers = {api::Error{.code = Errc::unavailable, .message = "reset"}};
        CHECK(!room.send());
        room.clock.run_for(5s);
        CHECK(room.send());
        CHECK(room.authorizations() == std::vector<std::string>{"Bearer t1", "Bearer t1"});
    }
}

TEST_CASE("changed files are used", "[kube]") {
    Room room;
    room.files["token"] = "t2";
    room.files["ca"] = "-----BEGIN 2";
    room.send();
    CHECK(room.header("Authorization") == "Bearer t1");
    room.clock.run_for(60s);
    room.send();
    CHECK(room.header("Authorization") == "Bearer t2");
    CHECK(room.wire.reconfigured == Told{"-----BEGIN 2"});
    room.take();

    room.files.erase("token");
    for (int i = 0; i < 3; ++i) {
        room.clock.run_for(60s);
        room.send();
    }
    CHECK(room.header("Authorization") == "Bearer t2");
    CHECK(room.take() == Told{"problem token does not exist", "GET 200", "GET 200", "GET 200"});
    room.files["token"] = "t3";
    room.clock.run_for(60s);
    room.send();
    CHECK(room.header("Authorization") == "Bearer t3");
    CHECK(room.take() == Told{"GET 200"});
}

TEST_CASE("certificates are checked every second while requests get no answer", "[kube]") {
    Room room;
    room.send();
    room.files["ca"] = "-----BEGIN 2";
    room.clock.run_for(2s);
    room.send();
    CHECK(room.wire.reconfigured.empty());
    const api::Error untrusted = {.code = Errc::unavailable, .message = "the certificate is not trusted"};
    room.wire.answers = {untrusted};
    room.send();
    room.send();
    CHECK(room.wire.reconfigured == Told{"-----BEGIN 2"});
    room.files["ca"] = "-----BEGIN 3";
    room.clock.run_for(2s);
    room.send();
    CHECK(room.wire.reconfigured.size() == 1);
}

TEST_CASE("certificates that cannot be used are reported, and read again soon", "[kube]") {
    Room room;
    room.files["ca"] = "-----BEGIN half";
    room.clock.run_for(60s);
    room.send();
    CHECK(room.take() == Told{"problem CA: only half of it", "GET 200"});
    room.clock.run_for(2s);
    room.send();
    room.files["ca"] = "-----BEGIN whole";
    room.clock.run_for(2s);
    room.send();
    CHECK(room.wire.reconfigured == Told{"-----BEGIN half", "-----BEGIN whole"});
    CHECK(room.take() == Told{"GET 200", "GET 200"});
    room.clock.run_for(60s);
    room.send();
    CHECK(room.take() == Told{"GET 200"});
}

TEST_CASE("each warning is logged once", "[kube]") {
    Room room;
    const net::HttpResponse warned = {.headers = {{"Warning", "299 - \"old\""}}};
    room.wire.answers = {warned, warned, net::HttpResponse{.headers = {{"Warning", "299 - \"older\""}}}};
    for (int i = 0; i < 3; ++i) room.send();
    CHECK(room.told == Told{"GET 200", "warning old", "GET 200", "GET 200", "warning older"});
}

TEST_CASE("each answer with a date is reported with its round trip, whatever its status", "[kube]") {
    Room room;
    const auto dated = [](int status) {
        return net::HttpResponse{.status = status, .headers = {{"date", "Mon, 23 Nov 2026 10:00:00 GMT"}}};
    };
    room.wire.answers = {dated(200), dated(500), dated(200), net::HttpResponse{},
                         api::Error{.code = Errc::unavailable, .message = "reset"}};
    room.wire.on_request = [&] { room.clock.freeze_for(120ms); };
    room.send();
    room.send();
    REQUIRE(room.await(room.server->watch({.target = "/w"})));
    room.send();
    room.send();
    REQUIRE(room.dated.size() == 3);
    for (const kube::DatedAnswer& answer : room.dated) {
        CHECK(answer.came == VirtualClock::start + 120ms);
        CHECK(answer.wall == VirtualClock::wall_start + 120ms);
        CHECK(answer.round_trip == 120ms);
    }
}

TEST_CASE("a watch returns whole lines", "[kube]") {
    Room room;
    const kube::Request request = {.target = "/w", .accept = "special", .idle_timeout = 77s};
    SECTION("however they arrive") {
        room.wire.stream = {std::string("on"), std::string("e\ntwo\n\nth"), std::string("ree\nhalf")};
        auto watch = room.await(room.server->watch(request));
        REQUIRE(watch);
        CHECK(room.wire.idle_timeout == 77s);
        CHECK(room.header("Accept") == "special");
        for (const char* want : {"one", "two", "three", "", ""}) {
            const auto line = room.await((*watch)->next());
            REQUIRE(line);
            CHECK(*line == want);
        }
    }
    SECTION("until the connection breaks") {
        room.wire.stream = {std::string("one\nha"),
                            api::Error{.code = Errc::unavailable, .message = "reset"}};
        auto watch = room.await(room.server->watch(request));
        REQUIRE(watch);
        CHECK(*room.await((*watch)->next()) == "one");
        CHECK(room.await((*watch)->next()).error().code == Errc::unavailable);
    }
    SECTION("unless it is refused") {
        room.wire.answers = {net::HttpResponse{.status = 410, .body = "{}"}};
        CHECK(room.await(room.server->watch(request)).error().code == Errc::gone);
    }
}

TEST_CASE("fetch() parses, and its error names the request with the broken answer", "[kube]") {
    Room room;
    room.wire.answers = {net::HttpResponse{.body = R"({"a":1})"}, net::HttpResponse{.body = "{"},
                         net::HttpResponse{.status = 404}};
    const kube::Request request = {.target = "/x"};
    const auto good = room.await(kube::fetch(*room.server, request));
    REQUIRE(good);
    CHECK(*good == api::Json::object({{"a", 1}}));
    const auto broken = room.await(kube::fetch(*room.server, request));
    REQUIRE(broken.has_error());
    CHECK(broken.error().code == Errc::internal);
    CHECK_THAT(broken.error().message, Catch::Contains("GET /x"));
    CHECK(room.await(kube::fetch(*room.server, request)).error().code == Errc::not_found);
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
