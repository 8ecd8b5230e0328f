#include "lifecycle/refusal.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace {

constexpr const char* counted = "count/jobsets.jobset.x-k8s.io=";

std::string refusal(const std::string& requested, const std::string& used, const std::string& limited,
                    const std::string& quota = "few") {
    return "jobsets.jobset.x-k8s.io \"job\" is forbidden: exceeded quota: " + quota +
           ", requested: " + requested + ", used: " + used + ", limited: " + limited;
}
std::string full(const std::string& requested, const std::string& used, const std::string& limited) {
    return refusal(counted + requested, counted + used, counted + limited);
}

bool makes_room(std::string message, int status = 403) {
    return lifecycle::deletion_makes_room(
        {.code = api::Errc::forbidden, .message = std::move(message), .http_status = status});
}

}  // namespace

TEST_CASE("a quota of JobSets that is exactly full has room once one is deleted", "[lifecycle]") {
    CHECK(makes_room(full("1", "5", "5")));
    CHECK(makes_room(full("1", "1", "1")));
    CHECK(makes_room(full("1", "1k", "1k")));
    CHECK(makes_room(refusal(std::string(counted) + "1", std::string(counted) + "2",
                             std::string(counted) + "2", "a.b-c")));
}

TEST_CASE("any other refusal is believed", "[lifecycle]") {
    const std::string one = std::string(counted) + "1", five = std::string(counted) + "5";
    const std::string refusals[] = {
        full("1", "6", "5"),
        full("1", "0", "0"),
        full("2", "5", "5"),
        full("0", "5", "5"),
        full("-1", "5", "5"),
        full("", "5", "5"),
        full("1", "", ""),
        full("x", "5", "5"),
        full("1", "5", "5x"),
        full("1", "5", "5") + " ",
        full("1", "5", "5") + ",",
        full("1", "5", "5") + ", and more",
        " " + full("1", "5", "5"),
        "",
        "exceeded quota: few",
        refusal(one + ",pods=1", five + ",pods=5", five + ",pods=5"),
        refusal("cpu=1," + one, "cpu=5," + five, "cpu=5," + five),
        refusal("pods=1", "pods=5", "pods=5"),
        refusal("count/jobs.batch=1", "count/jobs.batch=5", "count/jobs.batch=5"),
        refusal("count/jobsets.jobset.x-k8s.io.evil=1", five, five),
        refusal(one, five, ""),
        refusal(one, five, five, ""),
        refusal(one, five, five, "few, more"),
        refusal(one, five, five, "few, requested: " + one),
        "admission webhook \"a.example.com\" denied the request: " + full("1", "5", "5"),
        "configmaps \"job\" is forbidden: exceeded quota: few, requested: " + one + ", used: " + five +
            ", limited: " + five,
        "jobsets.jobset.x-k8s.io \"a\" b\" is forbidden: exceeded quota: few, requested: " + one +
            ", used: " + five + ", limited: " + five,
        std::string(100'000, '"'),
        refusal(one, std::string(counted) + std::string(100'000, '9'), five),
        std::string("jobsets.jobset.x-k8s.io \"\0\" is forbidden", 40),
    };
    for (const std::string& each : refusals) {
        INFO(each.substr(0, 300));
        CHECK_FALSE(makes_room(each));
    }
    for (const int status : {0, 200, 409, 422, 429, 500})
        CHECK_FALSE(makes_room(full("1", "5", "5"), status));
}
