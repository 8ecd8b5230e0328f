#include "edit.hpp"

#include "fixtures.hpp"

using api::Json;

TEST_CASE("ports are told apart by number and protocol", "[runtime]") {
    struct Case {
        const char* name;
        const char* ports;
        const char* port;
        const char* want;
    };
    const Case cases[] = {
        {"the first", "null", "{containerPort: 29500}", "[{containerPort: 29500}]"},
        {"beside two without names", "[{containerPort: 8080}, {containerPort: 9090}]",
         "{containerPort: 29500}", "[{containerPort: 8080}, {containerPort: 9090}, {containerPort: 29500}]"},
        {"in place of the same number", "[{containerPort: 29500, name: a}, {containerPort: 1}]",
         "{containerPort: 29500}", "[{containerPort: 29500}, {containerPort: 1}]"},
        {"TCP is the default", "[{containerPort: 29500, protocol: TCP}]", "{containerPort: 29500}",
         "[{containerPort: 29500}]"},
        {"the same number over UDP is another port", "[{containerPort: 29500, protocol: UDP}]",
         "{containerPort: 29500}", "[{containerPort: 29500, protocol: UDP}, {containerPort: 29500}]"},
        {"a name may stay with its number", "[{containerPort: 1, name: a}]", "{containerPort: 1, name: a}",
         "[{containerPort: 1, name: a}]"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Json container = Json::object({{"ports", tree(c.ports)}});
            CHECK(runtime::upsert_port(container, tree(c.port)).has_value());
            CHECK(std::as_const(container)["ports"] == tree(c.want));
        }
    }
    Json container = tree("{ports: [{containerPort: 1, name: a}]}");
    CHECK_FALSE(runtime::upsert_port(container, tree("{containerPort: 2, name: a}")));
}

TEST_CASE("an entry is replaced where it stands, or comes last", "[runtime]") {
    Json container = tree("{env: [{name: A, value: \"1\"}, {name: B, valueFrom: {x: {}}}]}");
    runtime::upsert_env(container, runtime::env_value("B", ""));
    runtime::upsert_env(container, runtime::env_value("C", "3"));
    CHECK(container ==
          tree("{env: [{name: A, value: \"1\"}, {name: B, value: \"\"}, {name: C, value: \"3\"}]}"));

    runtime::upsert_mount(container, tree("{name: v, mountPath: /a}"));
    runtime::upsert_mount(container, tree("{name: w, mountPath: /a}"));
    runtime::upsert_mount(container, tree("{name: v, mountPath: /b}"));
    CHECK(std::as_const(container)["volumeMounts"] ==
          tree("[{name: w, mountPath: /a}, {name: v, mountPath: /b}]"));

    Json pod = Json::object();
    runtime::upsert_volume(pod, tree("{name: v, emptyDir: {}}"));
    runtime::upsert_volume(pod, tree("{name: v, secret: {secretName: s}}"));
    CHECK(pod == tree("{volumes: [{name: v, secret: {secretName: s}}]}"));
}
