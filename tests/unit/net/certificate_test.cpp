#include "net/tls/certificate.hpp"

#include <catch2/catch.hpp>

#include "api/base64.hpp"
#include "server_fixture.hpp"
#include "support/printers.hpp"

using namespace std::chrono_literals;

namespace {

net::CertificateFields fields() {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return {.not_before = now - 1h, .not_after = now + 1h, .dns_names = {"localhost", "a.b.svc"}};
}

// Returns the encoded serial number of a certificate: behind two headers and the version.
std::string encoded_serial(const std::string& pem) {
    std::string text = pem.substr(pem.find('\n'));
    text.resize(text.find("-----"));
    std::erase(text, '\n');
    const std::string der = api::from_base64(text).value();
    constexpr std::size_t tag = 13;
    REQUIRE(der.at(tag) == 2);
    return der.substr(tag + 2, static_cast<unsigned char>(der.at(tag + 1)));
}

}  // namespace

TEST_CASE("serial numbers are positive and in their shortest form, as parsers insist on",
          "[net][self-signed]") {
    for (int i = 0; i < 16; ++i) {
        const auto made = net::make_self_signed(fields());
        for (const auto& pem : {made.ca_pem, made.identity.cert_pem}) {
            const auto first = static_cast<unsigned char>(encoded_serial(pem).at(0));
            CHECK(first >= 0x40);
            CHECK(first < 0x80);
        }
    }
}

TEST_CASE("a self-signed certificate has the names and the times that were given", "[net][self-signed]") {
    const auto wanted = fields();
    const auto made = net::make_self_signed(wanted);
    for (const auto& pem : {made.ca_pem, made.identity.cert_pem}) {
        const auto said = net::certificate_fields(pem);
        REQUIRE(said);
        CHECK(said->not_before == wanted.not_before);
        CHECK(said->not_after == wanted.not_after);
    }
    CHECK(net::certificate_fields(made.identity.cert_pem)->dns_names == wanted.dns_names);
    CHECK_FALSE(net::certificate_fields("hello"));
}

TEST_CASE("a self-signed certificate belongs to its own CA only", "[net][self-signed]") {
    const auto made = net::make_self_signed(fields());
    const auto other = net::make_self_signed(fields());
    CHECK(net::is_issued_by(made.identity.cert_pem, made.ca_pem));
    CHECK_FALSE(net::is_issued_by(made.identity.cert_pem, other.ca_pem));
    CHECK_FALSE(net::is_issued_by(made.identity.cert_pem, "hello"));
    CHECK(made.identity.key_pem != other.identity.key_pem);
}

TEST_CASE("the certificates of a bundle can be distinguished", "[net][self-signed]") {
    const auto one = net::make_self_signed(fields()).ca_pem;
    const auto two = net::make_self_signed(fields()).ca_pem;
    const auto split = net::split_certificates(one + "\n" + two);
    REQUIRE(split);
    CHECK(*split == std::vector{one, two});
}

TEST_CASE("a client that trusts both CAs is served before and after a rotation", "[net][self-signed]") {
    test::TestServer server({.tls = true});
    const auto old = net::make_self_signed(fields());
    const auto renewed = net::make_self_signed(fields());
    for (const auto* made : {&old, &renewed}) {
        REQUIRE(server.tls->replace(made->identity));
        server.run([&]() -> net::Task<> {
            test::PeerTls options;
            options.ca = renewed.ca_pem + old.ca_pem;
            options.server_name = "a.b.svc";
            const auto peer = co_await test::connect(server.port, std::move(options));
            const auto response = co_await peer->ask("GET /echo HTTP/1.1\r\nHost: test\r\n\r\n");
            CHECK(test::status_of(response) == 200);
        });
    }
}

TEST_CASE("a CA with its key issues several certificates", "[net][self-signed]") {
    auto lasting = fields();
    lasting.not_after += 24h * 3650;
    const net::Authority authority = net::make_authority("ca", lasting);
    CHECK(net::certificate_fields(authority.cert_pem)->not_after == lasting.not_after);
    CHECK(net::is_key_of(authority.key_pem, authority.cert_pem));
    const auto first = net::issue_certificate(authority, "first", fields());
    const auto second = net::issue_certificate(authority, "second", fields());
    for (const auto& made : {first, second}) {
        CHECK(net::is_issued_by(made.cert_pem, authority.cert_pem));
        CHECK(net::is_key_of(made.key_pem, made.cert_pem));
        CHECK(net::certificate_fields(made.cert_pem)->dns_names == fields().dns_names);
    }
    CHECK_FALSE(net::is_key_of(first.key_pem, second.cert_pem));
    CHECK_FALSE(net::is_key_of("hello", second.cert_pem));
    CHECK_FALSE(net::is_key_of(first.key_pem, "hello"));
    CHECK_THROWS(net::issue_certificate({.cert_pem = "hello", .key_pem = authority.key_pem}, "x", fields()));
}
