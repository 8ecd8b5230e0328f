#include "net/tls/tls.hpp"

#include <openssl/ssl.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>

#include "server_fixture.hpp"

using test::body_of;
using test::status_of;
using test::TestServer;

namespace {

const std::string request = "GET /echo HTTP/1.1\r\nHost: test\r\n\r\n";

// Connects as a client and returns the error, or the version and cipher.
struct Attempt {
    std::string failure = {};
    std::string version = {};
    std::string cipher = {};
    std::string answer = {};
};

Attempt attempt(TestServer& server, test::PeerTls tls) {
    if (tls.ca.empty()) tls.ca = server.authority.cert();
    if (tls.server_name.empty()) tls.server_name = "localhost";
    Attempt result;
    server.run([&]() -> net::Task<> {
        try {
            const auto peer = co_await test::connect(server.port, tls);
            result.version = peer->version;
            result.cipher = peer->cipher;
            result.answer = co_await peer->ask(request);
        } catch (const boost::system::system_error& e) {
            result.failure = e.what();
        }
    });
    return result;
}

class Files {
public:
    Files() {
        char name[] = "/tmp/signalbox-tls-XXXXXX";
        directory_ = ::mkdtemp(name);
        files = {.cert_file = directory_ / "tls.crt", .key_file = directory_ / "tls.key"};
    }
    ~Files() { std::filesystem::remove_all(directory_); }

    /// As the kubelet does: a new file replaces the old one.
    static void write(const std::string& file, const std::string& text) {
        std::ofstream(file + ".new") << text;
        std::filesystem::rename(file + ".new", file);
    }
    void write(const test::Certificate& certificate) const {
        write(files.cert_file, certificate.cert);
        write(files.key_file, certificate.key);
    }

    net::TlsFiles files = {};

private:
    std::filesystem::path directory_;
};

// Opens as many files as the process may.
class NoMoreFiles {
public:
    NoMoreFiles() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_ = {};
};

}  // namespace

TEST_CASE("TLS 1.3 is preferred, 1.2 accepted, less refused", "[net]") {
    TestServer server({.tls = true});
    const auto best = attempt(server, {});
    CHECK(best.version == "TLSv1.3");
    CHECK(best.cipher == "TLS_AES_128_GCM_SHA256");
    CHECK(status_of(best.answer) == 200);

    const auto older = attempt(server, {.max_version = TLS1_2_VERSION});
    CHECK(older.version == "TLSv1.2");
    CHECK(older.cipher.find("GCM") != std::string::npos);
    CHECK(status_of(older.answer) == 200);

    const auto old = attempt(server, {.max_version = TLS1_1_VERSION});
    CHECK_FALSE(old.failure.empty());
    CHECK(server.stats().handshake_errors >= 1);
}

TEST_CASE("only http/1.1 is negotiated", "[net]") {
    TestServer server({.tls = true});
    CHECK(status_of(attempt(server, {.alpn = "\x02h2\x08http/1.1"}).answer) == 200);
    CHECK_FALSE(attempt(server, {.alpn = "\x02h2"}).failure.empty());
}

TEST_CASE("cipher suites without AEAD are refused", "[net]") {
    TestServer server({.tls = true});
    CHECK_FALSE(attempt(server, {.max_version = TLS1_2_VERSION, .ciphers = "ECDHE+AES:-AESGCM:-AESCCM"})
                    .failure.empty());
    CHECK(attempt(server, {.max_version = TLS1_2_VERSION, .ciphers = "ECDHE+CHACHA20"}).failure.empty());
}

TEST_CASE("a client cannot renegotiate", "[net]") {
    TestServer server({.tls = true});
    server.run([&]() -> net::Task<> {
        test::PeerTls options;
        options.ca = server.authority.cert();
        options.max_version = TLS1_2_VERSION;
        const auto peer = co_await test::connect(server.port, options);
        co_await peer->renegotiate();
        const auto response = co_await peer->ask(request);
        CHECK(response.empty());
    });
}

TEST_CASE("plain HTTP on the TLS port is closed", "[net]") {
    TestServer server({.tls = true});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await test::connect(server.port);
        co_await peer->send(request);
        const auto all = co_await peer->rest();
        CHECK(all.find("HTTP") == std::string::npos);
    });
    CHECK(server.stats().handshake_errors == 1);
}

TEST_CASE("clients can be required to have a certificate", "[net]") {
    const test::Authority clients("client CA");
    const test::Authority others("other CA");
    TestServer server({.tls = true, .client_ca = clients.cert()});
    const test::Wanted api_server{.common_name = "kube-apiserver"};
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CHECK(status_of(
                  attempt(server, {.identity = clients.issue(api_server), .max_version = version}).answer) ==
              200);
        // In TLS 1.3 the client gets the refusal only when it reads.
        CHECK(attempt(server, {.identity = others.issue(api_server), .max_version = version}).answer.empty());
        CHECK(attempt(server, {.max_version = version}).answer.empty());
        auto expired = api_server;
        expired.valid_for = std::chrono::seconds(-60);
        CHECK(attempt(server, {.identity = clients.issue(expired), .max_version = version}).answer.empty());
    }
    CHECK(server.stats().requests == 2);
}

TEST_CASE("certificates that either side rejects are counted, and one a minute is a warning", "[net]") {
    const test::Authority clients("client CA");
    const test::Authority others("other CA");
    const bool asks_clients = GENERATE(false, true);
    TestServer server({.tls = true, .client_ca = asks_clients ? clients.cert() : ""});
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
        for (int i = 0; i < 2; ++i)
            CHECK(attempt(server, asks_clients
                                      ? test::PeerTls{.identity = others.issue(), .max_version = version}
                                      : test::PeerTls{.ca = others.cert(), .max_version = version})
                      .answer.empty());
    // A client that does not speak TLS has rejected none either.
    server.run([&]() -> net::Task<> {
        const auto peer = co_await test::connect(server.port);
        co_await peer->send(request);
        co_await peer->rest();
    });
    CHECK(server.stats().handshake_errors == 5);
    CHECK(server.stats().rejected_server_certificates == (asks_clients ? 0 : 4));
    CHECK(server.stats().rejected_client_certificates == (asks_clients ? 4 : 0));
    std::vector<std::string> warnings;
    for (const std::string& line : server.log_lines)
        if (line.find("\"level\":\"warn\"") != line.npos) warnings.push_back(line);
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0],
               Catch::Contains(asks_clients ? "the certificate of a client is missing or not trusted"
                                            : "a client does not trust the serving certificate") &&
                   Catch::Contains("\"peer\":\"127.0.0.1\"") && Catch::Contains("\"since_last_line\":0"));
}

TEST_CASE("the CA of clients may be an intermediate one", "[net]") {
    const test::Authority root("root");
    const test::Authority between("between", root);
    const test::Authority other("other", root);
    const auto leaf = between.issue();
    const test::Certificate chain = {.cert = leaf.cert + between.cert(), .key = leaf.key};
    struct Case {
        const char* name;
        std::string client_ca;
        test::Certificate shown;
        bool good;
    };
    const Case cases[] = {
        {"the one between, leaf alone", between.cert(), leaf, true},
        {"the one between, whole chain", between.cert(), chain, true},
        {"the root, whole chain", root.cert(), chain, true},
        {"the root, leaf alone", root.cert(), leaf, false},
        {"another one of that root", other.cert(), chain, false},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.name) {
            TestServer server({.tls = true, .client_ca = c.client_ca});
            const auto answer = attempt(server, {.identity = c.shown}).answer;
            CHECK(answer.empty() == !c.good);
        }
    }
}

TEST_CASE("a new identity is for new handshakes only", "[net]") {
    TestServer server({.tls = true});
    server.run([&]() -> net::Task<> {
        const auto before = co_await server.connect();
        co_await before->ask(request);
        const test::Wanted wanted{.common_name = "second"};
        const auto second = server.authority.issue(wanted);
        CHECK(server.tls->replace({.cert_pem = second.cert, .key_pem = second.key}).has_value());

        auto response = co_await before->ask(request);
        CHECK(status_of(response) == 200);
        const auto after = co_await server.connect();
        CHECK(before->common_name == "test");
        CHECK(after->common_name == "second");
        response = co_await after->ask(request);
        CHECK(status_of(response) == 200);

        // A broken identity changes nothing.
        CHECK(server.tls->replace({.cert_pem = second.cert, .key_pem = "nonsense"}).has_error());
        const auto still = co_await server.connect();
        CHECK(still->common_name == "second");
    });
}

TEST_CASE("not_after is the end of the leaf certificate", "[net]") {
    const test::Authority authority;
    const test::Wanted wanted{.valid_for = std::chrono::hours(5)};
    const auto certificate = authority.issue(wanted);
    const auto tls =
        net::Tls::make({.cert_pem = certificate.cert + authority.cert(), .key_pem = certificate.key});
    const auto left = tls.value()->not_after() - std::chrono::system_clock::now();
    CHECK(left > std::chrono::hours(4));
    CHECK(left <= std::chrono::hours(5));
}

TEST_CASE("an error about broken certificate files names the file and the remedy", "[net]") {
    const test::Authority authority;
    const auto good = authority.issue();
    const auto other = authority.issue();
    std::string cut = good.cert;
    cut.replace(cut.size() / 2, 10, "!!!!!!!!!!");
    struct Case {
        const char* name;
        std::string cert;
        std::string key;
        const char* message;  // @c and @k stand for the files
    };
    const Case cases[] = {
        {"no certificate in the file", "hello\n", good.key,
         "@c: no PEM block CERTIFICATE found: put the certificate chain there, in PEM"},
        {"a key in place of the certificate", good.key, good.key,
         "@c: no PEM block CERTIFICATE found: put the certificate chain there, in PEM"},
        {"an empty key", good.cert, "",
         "@k: no PEM block PRIVATE KEY found: put the key of @c there, in PEM"},
        {"another key", good.cert, other.key,
         "@k: the private key does not belong to the certificate: put the key of @c there, in PEM"},
        {"a key with a pass phrase", good.cert,
         "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
         "@k: the private key has a pass phrase: store it without one: put the key of @c there, in PEM"},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Files dir;
            dir.write({.cert = c.cert, .key = c.key});
            const auto watcher = net::TlsFileWatcher::open(dir.files);
            REQUIRE(watcher.has_error());
            std::string want = c.message;
            for (auto at = want.find('@'); at != std::string::npos; at = want.find('@', at + 1))
                want.replace(at, 2, want[at + 1] == 'c' ? dir.files.cert_file : dir.files.key_file);
            CHECK(watcher.error().message == want);
        }
    }
    SECTION("garbage within the certificate") {
        const Files dir;
        dir.write({.cert = cut, .key = good.key});
        const auto watcher = net::TlsFileWatcher::open(dir.files);
        REQUIRE(watcher.has_error());
        CHECK(watcher.error().message.find(dir.files.cert_file + ": broken PEM certificate") == 0);
    }
    SECTION("no file") {
        const Files dir;
        const auto watcher = net::TlsFileWatcher::open(dir.files);
        REQUIRE(watcher.has_error());
        CHECK(watcher.error().message ==
              dir.files.cert_file + " does not exist: create it or name another file");
    }
    SECTION("an empty client CA does not admit every client") {
        Files dir;
        dir.write(good);
        dir.files.client_ca_file = dir.files.cert_file + ".ca";
        Files::write(dir.files.client_ca_file, "");
        const auto watcher = net::TlsFileWatcher::open(dir.files);
        REQUIRE(watcher.has_error());
        CHECK(watcher.error().message.find(dir.files.client_ca_file + " is empty") == 0);
    }
}

TEST_CASE("changed files are read again, broken ones are reported once", "[net]") {
    const test::Authority authority;
    const Files dir;
    const test::Wanted first{.valid_for = std::chrono::hours(10)};
    const test::Wanted second{.valid_for = std::chrono::hours(20)};
    dir.write(authority.issue(first));
    auto watcher = net::TlsFileWatcher::open(dir.files).value();
    const auto tls = watcher.tls();
    const auto before = tls->not_after();
    CHECK(watcher.poll().value() == false);

    const auto next = authority.issue(second);
    Files::write(dir.files.cert_file, next.cert);
    // The certificate is new and the key is not: the moment in between.
    CHECK(watcher.poll().has_error());
    CHECK(tls->not_after() == before);
    CHECK(watcher.poll().value() == false);

    Files::write(dir.files.key_file, next.key);
    CHECK(watcher.poll().value() == true);
    CHECK(tls->not_after() > before);

    Files::write(dir.files.key_file, next.key);
    CHECK(watcher.poll().value() == false);

    std::filesystem::remove(dir.files.key_file);
    CHECK(watcher.poll().has_error());
    CHECK(watcher.poll().value() == false);
    Files::write(dir.files.key_file, next.key);
    CHECK(watcher.poll().value() == false);
}

TEST_CASE("files that cannot be read for a moment are read again later", "[net]") {
    const test::Authority authority;
    const Files dir;
    dir.write(authority.issue());
    auto watcher = net::TlsFileWatcher::open(dir.files).value();
    const auto before = watcher.tls()->not_after();
    const test::Wanted longer{.valid_for = std::chrono::hours(20)};
    dir.write(authority.issue(longer));
    // UBSan opens files of its own during Catch's work.
    const auto poll = [&] {
        const NoMoreFiles full;
        return watcher.poll();
    };
    const auto first = poll();
    CHECK(first.has_error());
    const auto second = poll();
    CHECK(second.value() == false);
    CHECK(watcher.tls()->not_after() == before);
    CHECK(watcher.poll().value() == true);
    CHECK(watcher.tls()->not_after() > before);
}

TEST_CASE("a change that leaves size and time as they were is noticed", "[net]") {
    const test::Authority authority;
    const Files dir;
    const auto first = authority.issue();
    dir.write(first);
    auto watcher = net::TlsFileWatcher::open(dir.files).value();
    const auto written_at = std::filesystem::last_write_time(dir.files.cert_file);
    auto second = authority.issue();
    // Signatures differ in size.
    while (second.cert.size() != first.cert.size()) second = authority.issue();
    std::ofstream(dir.files.cert_file) << second.cert;
    std::filesystem::last_write_time(dir.files.cert_file, written_at);
    // The key of another certificate.
    CHECK(watcher.poll().has_error());
}

TEST_CASE("following files writes changes and errors to the log", "[net]") {
    using namespace std::chrono_literals;
    const test::Authority authority;
    const Files dir;
    dir.write(authority.issue());
    auto watcher = net::TlsFileWatcher::open(dir.files).value();
    std::vector<std::string> lines;
    net::Log log(net::LogLevel::info, net::LogFormat::json, [&](auto line) { lines.emplace_back(line); });
    test::Loop loop;
    boost::asio::co_spawn(loop.context(), net::follow(watcher, 1ms, log), boost::asio::detached);
    Files::write(dir.files.key_file, "nonsense");
    loop.run_until([&] { return lines.size() == 1; });
    CHECK(lines[0].find("the old ones stay in use") != std::string::npos);
    CHECK(lines[0].find(dir.files.key_file) != std::string::npos);
    dir.write(authority.issue());
    loop.run_until(
        [&] { return lines.size() >= 2 && lines.back().find("certificate replaced") != std::string::npos; });
}

TEST_CASE("servers on several threads share one identity", "[net][threads]") {
    const test::Authority authority;
    const auto first = authority.issue();
    const auto tls = net::Tls::make({.cert_pem = first.cert, .key_pem = first.key}).value();
    const auto serve = [&] {
        test::Loop loop;
        net::Log log(net::LogLevel::error);
        net::ServerConfig config;
        config.host = "127.0.0.1";
        config.tls = tls;
        const auto handler = [](net::HttpRequest&) -> net::Answer { return net::HttpResponse{}; };
        const auto server = net::make_http_server(loop.executor(), config, handler, log);
        const auto port = server->start().value();
        int answered = 0;
        auto body = [&]() -> net::Task<> {
            for (int i = 0; i < 10; ++i) {
                test::PeerTls options;
                options.ca = authority.cert();
                const auto peer = co_await test::connect(port, options);
                const auto response = co_await peer->ask(request);
                answered += status_of(response) == 200;
            }
        };
        loop.run(body());
        return answered;
    };
    auto one = std::async(std::launch::async, serve);
    auto two = std::async(std::launch::async, serve);
    for (int i = 0; i < 20; ++i) {
        const auto next = authority.issue();
        CHECK(tls->replace({.cert_pem = next.cert, .key_pem = next.key}).has_value());
        CHECK(tls->not_after() > api::Time());
    }
    CHECK(one.get() == 10);
    CHECK(two.get() == 10);
}
