// How a client of the API server reads and renews its credentials.
#include "https_fixture.hpp"

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
