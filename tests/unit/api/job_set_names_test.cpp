#include "api/job_set_names.hpp"

#include <catch2/catch.hpp>

namespace names = api::job_set_names;
using api::Json;

TEST_CASE("the names that JobSet derives are those of JobSet 0.12", "[api]") {
    const Json spec = *api::parse_json(R"({"network": {"enableDNSHostnames": true}})");
    CHECK(names::service("night", spec) == "night");
    CHECK(names::job("night", "node", 3) == "night-node-3");
    CHECK(names::host("night", "node", 3, 12) == "night-node-3-12");
    CHECK(names::address("night", spec, "node", 0, 0) == "night-node-0-0.night");
    CHECK(names::claim("night", "data") == "data-night");
    // Of a replicated job without replicas it checks the name with the index before the first one.
    CHECK(names::job("night", "node", -1) == "night-node--1");
}

TEST_CASE("the headless Service has the name of the subdomain, and is missing without host names", "[api]") {
    struct Case {
        const char* spec;
        const char* service;
        const char* subdomain;
    };
    for (const Case& c :
         {Case{"{}", "night", "night"}, Case{R"({"network": {}})", "night", "night"},
          Case{R"({"network": {"subdomain": "mesh"}})", "mesh", "mesh"},
          Case{R"({"network": {"enableDNSHostnames": false}})", "", "night"},
          Case{R"({"network": {"enableDNSHostnames": false, "subdomain": "mesh"}})", "", "mesh"}}) {
        INFO(c.spec);
        const Json spec = *api::parse_json(c.spec);
        CHECK(names::service("night", spec) == c.service);
        CHECK(names::subdomain("night", spec) == c.subdomain);
    }
}

TEST_CASE("a Job belongs to a replicated job by its whole name", "[api]") {
    for (const char* name : {"night-node-0", "night-node-12"}) CHECK(names::is_job(name, "night", "node"));
    for (const char* name : {"night-node-", "night-node", "night-node-x", "night-node-1x", "night-node-x-0",
                             "night-nodes-0", "tonight-node-0", ""})
        CHECK_FALSE(names::is_job(name, "night", "node"));
}
