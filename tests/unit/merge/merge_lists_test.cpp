// Which lists merge, by which key, and in which order.
#include <string>

#include "tree.hpp"

using api::Json;

TEST_CASE("lists of a Pod merge by key or are replaced", "[merge]") {
    struct Case {
        const char* name;
        const char* base;
        const char* patch;
        const char* want;
    };
    const Case cases[] = {
        {"volumes merge by name", "{volumes: [{name: a, secret: {secretName: s}}]}",
         "{volumes: [{name: a, secret: {optional: true}}]}",
         "{volumes: [{name: a, secret: {secretName: s, optional: true}}]}"},
        {"containers merge by name", "{containers: [{name: node, image: i}]}",
         "{containers: [{name: node, securityContext: {runAsUser: 1}}]}",
         "{containers: [{name: node, image: i, securityContext: {runAsUser: 1}}]}"},
        {"init containers merge by name",
         "{initContainers: [{name: prep, image: i}, {name: warm, image: j}]}",
         "{initContainers: [{name: warm, env: [{name: A, value: b}]}]}",
         "{initContainers: [{name: prep, image: i}, {name: warm, image: j, env: [{name: A, value: b}]}]}"},
        {"env merges by name", "{containers: [{name: node, env: [{name: A, value: x}]}]}",
         "{containers: [{name: node, env: [{name: A, value: w}]}]}",
         "{containers: [{name: node, env: [{name: A, value: w}]}]}"},
        {"volume mounts merge by path, not by volume",
         "{containers: [{name: node, volumeMounts: [{name: v, mountPath: /a, readOnly: true}]}]}",
         "{containers: [{name: node, volumeMounts: [{name: w, mountPath: /a}, {name: v, mountPath: /b}]}]}",
         "{containers: [{name: node, volumeMounts: [{name: w, mountPath: /a, readOnly: true}, {name: v, "
         "mountPath: "
         "/b}]}]}"},
        {"image pull secrets merge by name", "{imagePullSecrets: [{name: a}]}",
         "{imagePullSecrets: [{name: b}]}", "{imagePullSecrets: [{name: b}, {name: a}]}"},
        {"scheduling gates merge by name", "{schedulingGates: [{name: a}]}", "{schedulingGates: [{name: a}]}",
         "{schedulingGates: [{name: a}]}"},
        {"tolerations are replaced", "{tolerations: [{key: a}]}", "{tolerations: [{key: b}]}",
         "{tolerations: [{key: b}]}"},
        {"capabilities are replaced",
         "{containers: [{name: node, securityContext: {capabilities: {add: [A], drop: [ALL]}}}]}",
         "{containers: [{name: node, securityContext: {capabilities: {add: [B]}}}]}",
         "{containers: [{name: node, securityContext: {capabilities: {add: [B], drop: [ALL]}}}]}"},
        {"supplemental groups and sysctls are replaced",
         "{securityContext: {supplementalGroups: [1], sysctls: [{name: a, value: x}]}}",
         "{securityContext: {supplementalGroups: [0], sysctls: [{name: b, value: \"\"}]}}",
         "{securityContext: {supplementalGroups: [0], sysctls: [{name: b, value: \"\"}]}}"},
        {"node selector terms are replaced",
         "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
         "[{matchExpressions: [{key: a}]}]}}}}",
         "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
         "[{matchFields: [{key: b}]}]}}}}",
         "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
         "[{matchFields: [{key: b}]}]}}}}"},
        {"preferred terms are replaced, and keep a weight of zero",
         "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}",
         "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0}]}}}",
         "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0}]}}}"},
        {"Pod affinity terms are replaced, namespaces and match label keys too",
         "{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, "
         "namespaces: "
         "[a], matchLabelKeys: [k]}]}}}",
         "{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: w}]}}}",
         "{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: w}]}}}"},
        {"lists inside a volume source are replaced",
         "{volumes: [{name: a, projected: {sources: [{secret: {name: s}}]}}, {name: b, configMap: {items: "
         "[{key: k, "
         "path: p}]}}]}",
         "{volumes: [{name: a, projected: {sources: [{configMap: {name: m}}]}}, {name: b, configMap: {items: "
         "[{key: "
         "l, path: q, mode: 0}]}}]}",
         "{volumes: [{name: a, projected: {sources: [{configMap: {name: m}}]}}, {name: b, configMap: {items: "
         "[{key: "
         "l, path: q, mode: 0}]}}]}"},
        {"resource claims merge by name", "{resourceClaims: [{name: a, resourceClaimName: x}]}",
         "{resourceClaims: [{name: b, resourceClaimTemplateName: w}]}",
         "{resourceClaims: [{name: b, resourceClaimTemplateName: w}, {name: a, resourceClaimName: x}]}"},
        {"a container's claims merge by name",
         "{containers: [{name: node, resources: {claims: [{name: a}]}}]}",
         "{containers: [{name: node, resources: {claims: [{name: a, request: r}]}}]}",
         "{containers: [{name: node, resources: {claims: [{name: a, request: r}]}}]}"},
        {"a list that the base lacks is the patch's", "{}", "{tolerations: [{key: b}], volumes: [{name: v}]}",
         "{tolerations: [{key: b}], volumes: [{name: v}]}"},
        {"a list that the base lacks needs no keys", "{}", "{imagePullSecrets: [{}]}",
         "{imagePullSecrets: [{}]}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto merged = merge_pod_spec(tree(c.base), tree(c.patch));
            REQUIRE(merged.has_value());
            CHECK(*merged == tree(c.want));
        }
    }
}

TEST_CASE("replicated jobs merge by name, and so do the owners of a Job; finalizers are a set", "[merge]") {
    const auto merged = [](std::string_view base, std::string_view patch) {
        return merge::strategic_merge(tree(base), tree(patch), merge::job_set_spec()).value();
    };
    CHECK(
        merged("{replicatedJobs: [{name: a, replicas: 2}, {name: b}], suspend: false}",
               "{replicatedJobs: [{name: b, template: {metadata: {labels: {x: z}}}}]}") ==
        tree("{replicatedJobs: [{name: a, replicas: 2}, {name: b, template: {metadata: {labels: {x: z}}}}], "
             "suspend: false}"));
    CHECK(merged("{replicatedJobs: [{name: a, template: {metadata: {finalizers: [a, b]}}}]}",
                 "{replicatedJobs: [{name: a, template: {metadata: {finalizers: [b, c]}}}]}") ==
          tree("{replicatedJobs: [{name: a, template: {metadata: {finalizers: [a, b, c]}}}]}"));
    CHECK(
        merged(
            "{replicatedJobs: [{name: a, template: {metadata: {ownerReferences: [{uid: u, name: main}]}}}]}",
            "{replicatedJobs: [{name: a, template: {metadata: {ownerReferences: [{uid: u, controller: "
            "false}]}}}]}") == tree("{replicatedJobs: [{name: a, template: {metadata: {ownerReferences: "
                                    "[{uid: u, name: main, controller: "
                                    "false}]}}}]}"));
}

// The order was observed in the original's merge, for env and volumes alike.
TEST_CASE("items that a patch names come before the others, unless they stood behind them", "[merge]") {
    struct Case {
        const char* base;
        const char* patch;
        const char* want;
    };
    const Case cases[] = {
        {"ab", "c", "cab"},    {"abc", "b", "abc"},      {"abc", "ca", "bca"}, {"abc", "bx", "abxc"},
        {"abc", "xb", "xabc"}, {"ab", "ba", "ba"},       {"abc", "", "abc"},   {"", "ba", "ba"},
        {"abc", "cb", "acb"},  {"abcd", "dxb", "acdxb"}, {"a", "a", "a"},
    };
    const auto list = [](std::string_view names, std::string_view field) {
        Json items = Json::array();
        for (const char name : names) items.push_back(Json::object({{"name", std::string(1, name)}}));
        Json pod = Json::object();
        if (names.empty()) return pod;
        if (field == "env")
            pod["containers"] = Json::array({Json::object({{"name", "node"}, {"env", items}})});
        else
            pod["volumes"] = items;
        return pod;
    };
    for (const Case& c : cases)
        for (const std::string_view field : {"env", "volumes"}) {
            DYNAMIC_SECTION(field << ": [" << c.base << "] + [" << c.patch << "]") {
                CHECK(merge_pod_spec(list(c.base, field), list(c.patch, field)).value() ==
                      list(c.want, field));
            }
        }
}

TEST_CASE("an item that cannot be merged is an error with its place", "[merge]") {
    struct Case {
        const char* name;
        const char* base;
        const char* patch;
        const char* field;
    };
    const std::string pod = "replicatedJobs[0].template.spec.template.spec.";
    const Case cases[] = {
        {"without a key", "{imagePullSecrets: [{name: a}]}", "{imagePullSecrets: [{name: b}, {}]}",
         "imagePullSecrets[1]"},
        {"with an empty key", "{imagePullSecrets: [{name: a}]}", "{imagePullSecrets: [{name: \"\"}]}",
         "imagePullSecrets[0]"},
        {"with a key that is no string", "{volumes: [{name: a}]}", "{volumes: [{name: 1}]}", "volumes[0]"},
        {"that is no object", "{volumes: [{name: a}]}", "{volumes: [a]}", "volumes[0]"},
        {"into one that is no object", "{volumes: [{name: a, emptyDir: 7}]}",
         "{volumes: [{name: a, emptyDir: {}}]}", "volumes[0].emptyDir"},
        {"an object over a list", "{volumes: [{name: a}]}", "{volumes: {name: a}}", "volumes"},
        {"a list over an object", "{nodeSelector: {a: b}}", "{nodeSelector: [a]}", "nodeSelector"},
        {"a scalar over a list", "{tolerations: [{key: a}]}", "{tolerations: x}", "tolerations"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto merged = merge_pod_spec(tree(c.base), tree(c.patch));
            REQUIRE_FALSE(merged.has_value());
            CHECK(merged.error().field == pod + c.field);
            CHECK(merged.error().code == api::Errc::invalid);
        }
    }
}

TEST_CASE("a small item that is named twice is merged twice, a large one is an error with its place",
          "[merge]") {
    const auto mounts = [](std::string_view list) {
        return tree("{containers: [{name: node, volumeMounts: " + std::string(list) + "}]}");
    };
    const auto merged = merge_pod_spec(
        mounts("[{name: v, mountPath: /a}]"),
        mounts("[{name: w, mountPath: /a}, {name: x, mountPath: /a, readOnly: true}, {name: y, mountPath: "
               "/b}, {name: z, mountPath: /b}]"));
    REQUIRE(merged);
    CHECK(*merged == mounts("[{name: x, mountPath: /a, readOnly: true}, {name: z, mountPath: /b}]"));

    const auto named = [](int values, int times) {
        Json base = Json::object({{"name", "node"}});
        for (int i = 0; i < values; ++i) base["x"]["k" + std::to_string(i)] = i + 1;
        Json items = Json::array();
        for (int i = 0; i < times; ++i)
            items.push_back(
                Json::object({{"name", "node"}, {"x", Json::object({{"a" + std::to_string(i), 1}})}}));
        return merge_pod_spec(Json::object({{"containers", Json::array({base})}}),
                              Json::object({{"containers", std::move(items)}}));
    };
    CHECK(named(1'000, 1));
    CHECK(named(90, 5));
    const auto refused = named(1'000, 2);
    REQUIRE(!refused);
    CHECK(refused.error().field == "replicatedJobs[0].template.spec.template.spec.containers[1]");
    CHECK(refused.error().message ==
          "repeats the name of an item that is too large to be merged twice: name it once");
    // The key is a long text in each copy.
    CHECK(!named(90, 50));
}

TEST_CASE("equal entries of a set count once", "[merge]") {
    const auto of_job = [](const char* finalizers) {
        return tree("{replicatedJobs: [{name: a, template: {metadata: {finalizers: " +
                    std::string(finalizers) + "}}}]}");
    };
    // Those that the patch names follow its order.
    CHECK(merge::strategic_merge(of_job("[c, a, 1, [x]]"), of_job("[b, a, 1.0, [x], b, [y]]"),
                                 merge::job_set_spec())
              .value() == of_job("[b, c, a, 1, [x], [y]]"));
}
