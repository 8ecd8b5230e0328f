#include "metrics_certificate.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/tls/certificate.hpp"

using namespace std::chrono_literals;
using reconciler::MetricsCertificate;

TEST_CASE("without files, metrics have a certificate that outlives the process") {
    const auto certificate = MetricsCertificate::open({});
    REQUIRE(certificate.has_value());
    CHECK(certificate->tls()->not_after() > std::chrono::system_clock::now() + 24h * 365 * 9);
}

TEST_CASE("metrics have the certificate of the files, and an error names a file that is missing") {
    char name[] = "/tmp/signalbox-metrics-XXXXXX";
    const std::filesystem::path directory = ::mkdtemp(name);
    reconciler::Settings settings;
    settings.metrics_cert = directory / "tls.crt";
    settings.metrics_key = directory / "tls.key";
    const auto missing = MetricsCertificate::open(settings);
    REQUIRE(missing.has_error());
    CHECK_THAT(missing.error().message, Catch::StartsWith(settings.metrics_cert));

    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const net::CertificateFields fields = {
        .not_before = now - 1h, .not_after = now + 5h, .dns_names = {"metrics"}};
    const net::TlsIdentity identity = net::make_self_signed(fields).identity;
    std::ofstream(settings.metrics_cert) << identity.cert_pem;
    std::ofstream(settings.metrics_key) << identity.key_pem;
    const auto certificate = MetricsCertificate::open(settings);
    REQUIRE(certificate.has_value());
    CHECK(certificate->tls()->not_after() == fields.not_after);
    std::filesystem::remove_all(directory);
}
