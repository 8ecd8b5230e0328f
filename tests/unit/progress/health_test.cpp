#include "progress/health.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using progress::Health;
using namespace std::chrono_literals;

namespace {

constexpr Health good = {.certificate_is_stored = true, .certificate_is_valid = true};
constexpr Health::Reports flowing = {.are_accepted = true, .writes_work = true};

}  // namespace

TEST_CASE("a replica is ready with a valid certificate and an API server that answers", "[health]") {
    using Reasons = std::vector<std::string>;
    CHECK(good.not_ready(0s).empty());
    CHECK(good.not_ready(30s).empty());
    CHECK(good.not_ready(30s + 1ns) == Reasons{"the API server does not answer about progress"});
    CHECK(Health{.certificate_is_valid = true}.not_ready(0s) ==
          Reasons{"no certificate for progress is stored yet"});
    CHECK(Health{.certificate_is_stored = true}.not_ready(0s) ==
          Reasons{"the certificate for progress has expired"});
    CHECK(Health{}.not_ready(1h).size() == 3);
}

TEST_CASE("a replica is available while it accepts reports and can store them", "[health]") {
    CHECK(good.lease_state(flowing).available);
    CHECK_FALSE(good.lease_state({.are_accepted = false, .writes_work = true}).available);
    CHECK_FALSE(good.lease_state({.are_accepted = true, .writes_work = false}).available);
    CHECK_FALSE(Health{.certificate_is_valid = true}.lease_state(flowing).available);
    CHECK_FALSE(Health{.certificate_is_stored = true}.lease_state(flowing).available);
}

TEST_CASE("reports may wait for a minute before the Lease shows it", "[health]") {
    Health::Reports reports = flowing;
    reports.longest_wait = 60s;
    CHECK_FALSE(good.lease_state(reports).reports_wait);
    reports.longest_wait = 60s + 1ms;
    CHECK(good.lease_state(reports).reports_wait);
    CHECK(good.lease_state(reports).available);
}

TEST_CASE("the silence of the API server counts from its last answer", "[health]") {
    const kube::SteadyTime start(1000h);
    progress::LastAnswer answer;
    CHECK(answer.silence(start) > Health::answers_last);
    answer.note(start);
    CHECK(answer.silence(start) == 0s);
    CHECK(answer.silence(start + 31s) == 31s);
}
