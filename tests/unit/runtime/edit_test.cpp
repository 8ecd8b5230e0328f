#include "template/edit.hpp"

#include "fixtures.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/info.hpp"

using api::Json;

TEST_CASE("ports are identified by number and protocol", "[runtime]") {
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
    const auto clash = runtime::upsert_port(container, tree("{containerPort: 2, name: a}"));
    REQUIRE_FALSE(clash);
    CHECK(clash.error().field == "ports[0].name");
}

TEST_CASE("two ports of one name are an error at the runtime's port", "[runtime]") {
    const Json job_object = train_job();
    const api::TrainJob job = api::parse_train_job(job_object);
    const Json runtime = changed(
        plain_runtime(),
        {{"spec.template.spec.replicatedJobs[1]",
          "{name: other, template: {spec: {template: {spec: {containers: [{name: log}, {name: node, ports: "
          "[{containerPort: 80}, {containerPort: 90, name: a}]}]}}}}}"}});
    const runtime::ActivePlugins plugins(runtime::default_pipeline(), runtime);
    runtime::Info info = {.job = job,
                          .ml_policy = runtime["spec"]["mlPolicy"],
                          .pod_group_policy = runtime["spec"]["podGroupPolicy"],
                          .trainer = job.spec["trainer"],
                          .plugins = plugins,
                          .spec = runtime["spec"]["template"]["spec"]};
    const runtime::PodSet other = {.name = "other", .index = 1};
    const auto clash = info.upsert_port(other, "node", tree("{containerPort: 1, name: a}"));
    REQUIRE_FALSE(clash);
    CHECK(clash.error().field ==
          "spec.template.spec.replicatedJobs[1].template.spec.template.spec.containers[1].ports[1].name");
    CHECK(info.upsert_port(other, "node", tree("{containerPort: 90, name: a}")));
    CHECK(info.upsert_port(other, "absent", tree("{containerPort: 90, name: a}")));
}

TEST_CASE("adding many variables at once gives the same list as one by one", "[runtime]") {
    Json own = Json::array();
    Json entries = Json::array();
    for (int index = 0; index < 300; ++index) {
        own.push_back(runtime::env_value("A" + std::to_string(index % 200), "old"));
        entries.push_back(runtime::env_value("A" + std::to_string(index % 250 + 100), std::to_string(index)));
    }
    Json want = Json::object({{"env", own}});
    Json have = want;
    for (const Json& entry : std::as_const(entries).items()) runtime::upsert_env(want, entry);
    runtime::upsert_all_env(have, entries);
    CHECK(have == want);
}

TEST_CASE("an entry is replaced at its position, or added at the end", "[runtime]") {
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
