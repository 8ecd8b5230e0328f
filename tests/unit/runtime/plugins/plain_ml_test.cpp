// No framework.
#include "fixtures.hpp"

using api::Json;

TEST_CASE("without a framework there are the user's variables and nothing else", "[runtime]") {
    struct Case {
        const char* trainer;
        const char* want;
    };
    const Case cases[] = {
        {"{numNodes: 3, env: [{name: U, value: u}]}", "U=u"},
        {"{numNodes: 3}", ""},
        {"null", ""},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.trainer) {
            const Json node = trainer_node("none", c.trainer);
            CHECK(env_text(node) == c.want);
            CHECK(node["ports"] == Json());
        }
}

TEST_CASE("the user's variables replace the runtime's", "[runtime]") {
    const Change own = {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].env",
                        "[{name: A, value: a}, {name: B, value: b}]"};
    CHECK(env_text(trainer_node("none", "{env: [{name: C, value: c}, {name: A, value: x}]}", {own})) ==
          "A=x B=b C=c");
}
