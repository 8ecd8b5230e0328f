#include "net/tls/tls_policy.hpp"

#include <openssl/ssl.h>

#include <array>
#include <catch2/catch.hpp>

#include "net/process/options.hpp"
#include "server_fixture.hpp"

using net::CipherSuites;
using net::TlsPolicy;
using net::TlsVersion;
using test::TestServer;

namespace {

// Handshakes with one server. Its certificate has an ECDSA key.
class PolicyServer {
public:
    explicit PolicyServer(TlsPolicy policy) : server_({.tls = true, .policy = std::move(policy)}) {}

    // Returns the suite that both agree on, in OpenSSL's words; empty without an agreement. `ciphers` is for
    // TLS 1.2.
    std::string agree(int max_version = 0, const std::string& ciphers = {}) {
        std::string cipher;
        server_.run([&]() -> net::Task<> {
            test::PeerTls tls;
            tls.ca = server_.authority.cert();
            tls.server_name = "localhost";
            tls.max_version = max_version;
            tls.ciphers = ciphers;
            try {
                const auto peer = co_await test::connect(server_.port, tls);
                cipher = peer->cipher;
            } catch (const boost::system::system_error&) {
            }
        });
        return cipher;
    }
    TestServer& server() { return server_; }

private:
    TestServer server_;
};

std::string parse(const std::string& argument, TlsPolicy& policy) {
    net::Options options("program", "Test.", "1");
    net::add_tls_options(options, policy);
    const std::array arguments = {argument.c_str()};
    const auto parsed = options.parse(arguments);
    return parsed ? "" : parsed.error().message;
}

}  // namespace

TEST_CASE("a server that takes TLS 1.3 only refuses TLS 1.2", "[net]") {
    PolicyServer server({.min_version = TlsVersion::v1_3});
    CHECK(server.agree() == "TLS_AES_128_GCM_SHA256");
    CHECK(server.agree(TLS1_2_VERSION).empty());
}

TEST_CASE("suites of TLS 1.2 are limited to the list, and those of TLS 1.3 are not", "[net]") {
    PolicyServer server({.suites = {{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}}});
    CHECK(server.agree(TLS1_2_VERSION) == "ECDHE-ECDSA-AES256-GCM-SHA384");
    CHECK(server.agree(TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256").empty());
    CHECK(server.agree() == "TLS_AES_128_GCM_SHA256");
}

TEST_CASE("suites of TLS 1.3 are limited to the list, which then has no TLS 1.2", "[net]") {
    PolicyServer server({.suites = {{"TLS_AES_256_GCM_SHA384"}}});
    CHECK(server.agree() == "TLS_AES_256_GCM_SHA384");
    CHECK(server.agree(TLS1_2_VERSION).empty());
}

TEST_CASE("the first suite of the list that the client has is taken", "[net]") {
    PolicyServer server({.suites = {{"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256",
                                     "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                                     "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}}});
    CHECK(server.agree() == "TLS_CHACHA20_POLY1305_SHA256");
    CHECK(server.agree(TLS1_2_VERSION) == "ECDHE-ECDSA-CHACHA20-POLY1305");
    CHECK(server.agree(TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256") == "ECDHE-ECDSA-AES128-GCM-SHA256");
}

TEST_CASE("a list without a suite for the certificate's key leaves TLS 1.3", "[net]") {
    PolicyServer server({.suites = {{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}});
    CHECK(server.agree(TLS1_2_VERSION).empty());
    CHECK(server.agree() == "TLS_AES_128_GCM_SHA256");
}

TEST_CASE("a replaced certificate keeps the policy", "[net]") {
    PolicyServer server({.min_version = TlsVersion::v1_3});
    const auto next = server.server().authority.issue();
    REQUIRE(server.server().tls->replace({.cert_pem = next.cert, .key_pem = next.key}).has_value());
    CHECK(server.agree(TLS1_2_VERSION).empty());
    CHECK(!server.agree().empty());
}

TEST_CASE("every suite that the options allow is one of OpenSSL's", "[net]") {
    TlsPolicy policy;
    const std::string error = parse("--tls-cipher-suites=all", policy);
    const std::string names = error.substr(error.rfind(": ") + 2);
    const test::Authority authority;
    const auto certificate = authority.issue();
    int count = 0;
    for (std::size_t at = 0; at < names.size(); ++count) {
        const std::string name = names.substr(at, names.find(", ", at) - at);
        at += name.size() + 2;
        CAPTURE(name);
        CHECK(parse("--tls-cipher-suites=" + name, policy).empty());
        CHECK(net::Tls::make({.cert_pem = certificate.cert, .key_pem = certificate.key}, policy).has_value());
    }
    CHECK(count == 9);
}

TEST_CASE("versions and suites are read as Kubernetes' components read them", "[net]") {
    TlsPolicy policy;
    for (const auto& [text, want] :
         {std::pair("1.2", TlsVersion::v1_2), std::pair("1.3", TlsVersion::v1_3),
          std::pair("VersionTLS12", TlsVersion::v1_2), std::pair("VersionTLS13", TlsVersion::v1_3)}) {
        CHECK(parse(std::string("--tls-min-version=") + text, policy).empty());
        CHECK(policy.min_version == want);
    }
    CHECK(parse("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,TLS_AES_128_GCM_SHA256,"
                "TLS_AES_128_GCM_SHA256",
                policy)
              .empty());
    CHECK(policy.suites ==
          CipherSuites{{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}});
    CHECK(show_option(policy.suites) == "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256");
    CHECK(parse("--tls-cipher-suites=", policy).empty());
    CHECK(policy.suites.names.empty());
}

TEST_CASE("an error about the policy names the option, the value and what is allowed", "[net]") {
    TlsPolicy policy;
    CHECK(parse("--tls-min-version=1.1", policy) ==
          "--tls-min-version=1.1: must be 1.2 or 1.3, or VersionTLS12 or VersionTLS13");
    // Without an AEAD, with OpenSSL's name, and with an empty item.
    for (const char* wrong : {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-GCM-SHA256",
                              "tls_aes_128_gcm_sha256", ""}) {
        CAPTURE(wrong);
        const std::string value = std::string("TLS_AES_128_GCM_SHA256,") + wrong + ",";
        CHECK_THAT(parse("--tls-cipher-suites=" + value, policy),
                   Catch::StartsWith("--tls-cipher-suites=" + value + ": \"" + wrong +
                                     "\" is none of these, separated by commas: TLS_AES_128_GCM_SHA256, "));
    }
    CHECK(policy == TlsPolicy{});
}

TEST_CASE("a list that the oldest version rules out is an error", "[net]") {
    const CipherSuites older = {{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}};
    const CipherSuites both = {{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"}};
    CHECK(check(TlsPolicy{.min_version = TlsVersion::v1_3, .suites = older}).has_error());
    CHECK(check(TlsPolicy{.min_version = TlsVersion::v1_3, .suites = both}).has_value());
    CHECK(check(TlsPolicy{.min_version = TlsVersion::v1_3}).has_value());
    CHECK(check(TlsPolicy{.suites = older}).has_value());
}
