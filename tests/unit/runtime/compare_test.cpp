#include "runtime/compare.hpp"

#include "fixtures.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/live_defaults.hpp"

using api::Json;

TEST_CASE("a desired tree is contained in a live one, or not", "[runtime]") {
    struct Case {
        const char* name;
        const char* desired;
        const char* live;
        bool want;
    };
    const Case cases[] = {
        {"equal", "{a: {b: [1, 2]}}", "{a: {b: [1, 2]}}", true},
        {"more members live", "{a: {b: 1}}", "{a: {b: 1, c: 2}, d: 3}", true},
        {"a member missing", "{a: {b: 1, c: 2}}", "{a: {b: 1}}", false},
        {"another value", "{a: 1}", "{a: 2}", false},
        {"another type", "{a: \"1\"}", "{a: 1}", false},
        {"a shorter list live", "{a: [1, 2]}", "{a: [1]}", false},
        {"a longer list live", "{a: [1]}", "{a: [1, 2]}", false},
        {"another order", "{a: [1, 2]}", "{a: [2, 1]}", false},
        {"defaults in items", "{a: [{b: 1}]}", "{a: [{b: 1, c: 2}]}", true},
        {"quantities by value", "{resources: {limits: {cpu: 0.5, memory: 1024Mi}}}",
         "{resources: {limits: {cpu: 500m, memory: 1Gi}}}", true},
        {"quantities of other values", "{resources: {limits: {cpu: 1}}}", "{resources: {limits: {cpu: 2}}}",
         false},
        {"a size limit by value", "{emptyDir: {sizeLimit: 1Gi}}", "{emptyDir: {sizeLimit: 1024Mi}}", true},
        {"texts are no quantities", "{value: 1Gi}", "{value: 1024Mi}", false},
        {"empty is as good as absent", "{a: \"\", b: [], c: {}, d: null}", "{}", true},
        {"false is not", "{a: false}", "{}", false},
        {"an empty directory is a volume", "{emptyDir: {}}", "{hostPath: {path: /x}}", false},
        {"another owner beside us", "{ownerReferences: [{uid: a}]}",
         "{ownerReferences: [{uid: b}, {uid: a, x: z}]}", true},
        {"we are no owner any more", "{ownerReferences: [{uid: a}]}", "{ownerReferences: [{uid: b}]}", false},
        {"a scalar where an object should be", "{a: {b: 1}}", "{a: 1}", false},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(runtime::is_contained(tree(c.desired), tree(c.live)) == c.want); }
    }
}

TEST_CASE("two trees mean the same, or not", "[runtime]") {
    struct Case {
        const char* name;
        const char* left;
        const char* right;
        bool want;
    };
    const Case cases[] = {
        {"equal", "{a: [1, {b: c}]}", "{a: [1, {b: c}]}", true},
        {"absent and null", "{a: null}", "{}", true},
        {"absent and an empty list", "{a: []}", "{}", true},
        {"absent and an empty map", "{a: {}}", "{}", true},
        {"an empty map and null", "{a: {}}", "{a: null}", true},
        {"nested ones do add up", "{a: {b: []}}", "{a: {}}", true},
        {"an empty text is a value", "{a: \"\"}", "{}", false},
        {"false is a value", "{a: false}", "{}", false},
        {"an empty directory is something", "{emptyDir: {}}", "{}", false},
        {"a member more on the left", "{a: 1, b: 2}", "{a: 1}", false},
        {"a member more on the right", "{a: 1}", "{a: 1, b: 2}", false},
        {"quantities", "{limits: {cpu: 2}}", "{limits: {cpu: \"2\"}}", true},
        {"order", "{a: [1, 2]}", "{a: [2, 1]}", false},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            CHECK(runtime::is_equivalent(tree(c.left), tree(c.right)) == c.want);
            CHECK(runtime::is_equivalent(tree(c.right), tree(c.left)) == c.want);
        }
    }
}

TEST_CASE("the applied hash tells what was applied last", "[runtime]") {
    const Json object =
        tree("{kind: JobSet, metadata: {name: a, annotations: {x: z}}, spec: {suspend: true}}");
    const Json wanted = runtime::with_applied_hash(object);
    CHECK(runtime::applied_hash(wanted).size() == 16);
    CHECK(runtime::applied_hash(object).empty());
    const auto placed =
        runtime::with_applied_hash(tree("{metadata: {name: a}, spec: {replicatedJobs: [{name: node, "
                                        "template: {spec: {template: {spec: {nodeSelector: "
                                        "{zone: b}, tolerations: []}}}}}, {name: other}]}}"));
    CHECK(runtime::applied_hash(placed).size() == 16);
    CHECK(placed["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"].as_string().substr(16) ==
          R"( {"node":{"nodeSelector":{"zone":"b"}}})");
    CHECK(runtime::is_applied(placed, placed));
    CHECK(runtime::applied_hash(runtime::with_applied_hash(wanted)) == runtime::applied_hash(wanted));

    const Json live = changed(wanted, {{"metadata.uid", "u"},
                                       {"metadata.resourceVersion", "\"1\""},
                                       {"status", "{a: b}"},
                                       {"spec.defaulted", "1"}});
    CHECK(runtime::is_applied(wanted, live));
    CHECK(runtime::applied_hash(runtime::with_applied_hash(changed(object, {{"metadata.uid", "u"}}))) ==
          runtime::applied_hash(wanted));

    CHECK_FALSE(runtime::is_applied(wanted, changed(live, {{"spec.suspend", "false"}})));
    CHECK_FALSE(runtime::is_applied(wanted, changed(live, {{"metadata.annotations", "-"}})));
    const Json other = runtime::with_applied_hash(changed(object, {{"spec.suspend", "-"}}));
    CHECK_FALSE(runtime::is_applied(other, live));  // contained, but a field must be withdrawn
    CHECK_FALSE(runtime::is_applied(object, object));

    const Json bare = tree("{metadata: {name: a}}");
    CHECK(runtime::applied_hash(runtime::with_applied_hash(bare)) ==
          runtime::applied_hash(runtime::with_applied_hash(runtime::with_applied_hash(bare))));
}

TEST_CASE("resuming alone is told from any other change", "[runtime]") {
    const Json held = runtime::with_applied_hash(tree("{metadata: {name: a}, spec: {suspend: true, a: 1}}"));
    const auto wants = [&](const char* spec) {
        Json wanted = tree("{metadata: {name: a}}");
        wanted["spec"] = tree(spec);
        return runtime::differs_in_suspend_only(runtime::with_applied_hash(std::move(wanted)), held);
    };
    CHECK(wants("{suspend: true, a: 1}"));
    CHECK(wants("{suspend: false, a: 1}"));
    CHECK_FALSE(wants("{suspend: false, a: 2}"));
    CHECK_FALSE(wants("{suspend: true}"));
    CHECK_FALSE(
        runtime::differs_in_suspend_only(held, tree("{metadata: {name: a}, spec: {suspend: true, a: 1}}")));
}

TEST_CASE("a field that must not change is sent as it is stored, if that is what is wanted", "[runtime]") {
    struct Case {
        const char* name;
        const char* wanted;
        const char* live;
        const char* sent;
    };
    const Case cases[] = {
        {"defaults in a list", "{spec: {volumeClaimPolicies: [{templates: [{spec: {a: 1}}]}]}}",
         "{spec: {volumeClaimPolicies: [{whenDeleted: Delete, templates: [{spec: {a: 1}, status: {}}]}]}}",
         "{spec: {volumeClaimPolicies: [{whenDeleted: Delete, templates: [{spec: {a: 1}, status: {}}]}]}}"},
        {"names of rules", "{spec: {failurePolicy: {rules: [{action: x}]}}}",
         "{spec: {failurePolicy: {rules: [{action: x, name: r0}]}}}",
         "{spec: {failurePolicy: {rules: [{action: x, name: r0}]}}}"},
        {"a real change is not hidden", "{spec: {network: {subdomain: new}}}",
         "{spec: {network: {subdomain: old, b: 1}}}", "{spec: {network: {subdomain: new}}}"},
        {"what is not wanted is not sent", "{spec: {suspend: true}}", "{spec: {network: {b: 1}}}",
         "{spec: {suspend: true}}"},
        {"what may change is ours alone", "{spec: {replicatedJobs: [{name: a}]}}",
         "{spec: {replicatedJobs: [{name: a, groupName: default}]}}",
         "{spec: {replicatedJobs: [{name: a}]}}"},
        {"nothing is stored", "{spec: {network: {b: 1}}}", "{}", "{spec: {network: {b: 1}}}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            CHECK(runtime::with_live_defaults(tree(c.wanted), tree(c.live)) == tree(c.sent));
        }
    }
}
