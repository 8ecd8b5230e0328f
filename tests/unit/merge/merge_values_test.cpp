// The values a patch can set, those it cannot, and its effect on one-of groups and maps.
#include "tree.hpp"

using api::Json;

namespace {

struct Case {
    const char* name;
    const char* base;
    const char* patch;
    const char* want;
};

void check(const Case& c) {
    DYNAMIC_SECTION(c.name) {
        const auto merged = merge_pod_spec(tree(c.base), tree(c.patch));
        REQUIRE(merged.has_value());
        CHECK(*merged == tree(c.want));
    }
}

}  // namespace

TEST_CASE("objects and string maps merge key by key, scalars replace", "[merge]") {
    const Case cases[] = {
        {"node selectors", "{nodeSelector: {a: x, b: z}}", "{nodeSelector: {b: v, c: w}}",
         "{nodeSelector: {a: x, b: v, c: w}}"},
        {"security contexts", "{securityContext: {runAsUser: 1000, fsGroup: 5}}",
         "{securityContext: {runAsUser: 7}}", "{securityContext: {runAsUser: 7, fsGroup: 5}}"},
        {"scalars", "{serviceAccountName: a}", "{serviceAccountName: b}", "{serviceAccountName: b}"},
        {"unknown fields survive", "{fromTheFuture: {a: [1, {b: c}]}, nodeSelector: {a: x}}",
         "{nodeSelector: {b: z}}", "{fromTheFuture: {a: [1, {b: c}]}, nodeSelector: {a: x, b: z}}"},
        {"a null in the base is no value", "{nodeSelector: null, volumes: null}",
         "{nodeSelector: {a: b}, volumes: [{name: v}]}", "{nodeSelector: {a: b}, volumes: [{name: v}]}"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("a patch cannot remove: a field that a typed client omits has no effect", "[merge]") {
    const Case cases[] = {
        {"null", "{nodeSelector: {a: b}, serviceAccountName: s}",
         "{nodeSelector: null, serviceAccountName: null}", "{nodeSelector: {a: b}, serviceAccountName: s}"},
        {"null in a string map", "{nodeSelector: {a: b}}", "{nodeSelector: {a: null}}",
         "{nodeSelector: {a: b}}"},
        {"an empty list", "{tolerations: [{key: a}]}", "{tolerations: []}", "{tolerations: [{key: a}]}"},
        {"an empty string map", "{}", "{nodeSelector: {}}", "{}"},
        {"false of a plain boolean",
         "{containers: [{name: main, volumeMounts: [{mountPath: /a, readOnly: true}]}]}",
         "{containers: [{name: main, volumeMounts: [{mountPath: /a, readOnly: false}]}]}",
         "{containers: [{name: main, volumeMounts: [{mountPath: /a, readOnly: true}]}]}"},
        {"an empty plain string", "{containers: [{name: main, volumeMounts: [{mountPath: /a, subPath: s}]}]}",
         "{containers: [{name: main, volumeMounts: [{mountPath: /a, subPath: \"\"}]}]}",
         "{containers: [{name: main, volumeMounts: [{mountPath: /a, subPath: s}]}]}"},
        {"an empty value of a variable", "{containers: [{name: main, env: [{name: A, value: x}]}]}",
         "{containers: [{name: main, env: [{name: A, value: \"\"}]}]}",
         "{containers: [{name: main, env: [{name: A, value: x}]}]}"},
        {"zero of a plain integer", "{volumes: [{name: v, gcePersistentDisk: {pdName: d, partition: 3}}]}",
         "{volumes: [{name: v, gcePersistentDisk: {partition: 0}}]}",
         "{volumes: [{name: v, gcePersistentDisk: {pdName: d, partition: 3}}]}"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("zeros behind pointers and empty objects are sent", "[merge]") {
    const Case cases[] = {
        {"runAsUser: 0", "{securityContext: {runAsUser: 1000}}", "{securityContext: {runAsUser: 0}}",
         "{securityContext: {runAsUser: 0}}"},
        {"privileged: false", "{containers: [{name: main, securityContext: {privileged: true}}]}",
         "{containers: [{name: main, securityContext: {privileged: false}}]}",
         "{containers: [{name: main, securityContext: {privileged: false}}]}"},
        {"terminationGracePeriodSeconds: 0", "{terminationGracePeriodSeconds: 30}",
         "{terminationGracePeriodSeconds: 0}", "{terminationGracePeriodSeconds: 0}"},
        {"an empty service account clears it", "{serviceAccountName: s}", "{serviceAccountName: \"\"}",
         "{serviceAccountName: \"\"}"},
        {"an empty value in a string map", "{nodeSelector: {a: b}}", "{nodeSelector: {a: \"\"}}",
         "{nodeSelector: {a: \"\"}}"},
        {"emptyDir: {}", "{}", "{volumes: [{name: v, emptyDir: {}}]}",
         "{volumes: [{name: v, emptyDir: {}}]}"},
        {"optional: false", "{volumes: [{name: v, secret: {optional: true}}]}",
         "{volumes: [{name: v, secret: {optional: false}}]}",
         "{volumes: [{name: v, secret: {optional: false}}]}"},
        {"readOnly of a CSI volume", "{volumes: [{name: v, csi: {driver: d, readOnly: true}}]}",
         "{volumes: [{name: v, csi: {readOnly: false}}]}",
         "{volumes: [{name: v, csi: {driver: d, readOnly: false}}]}"},
        {"tolerationSeconds: 0", "{}", "{tolerations: [{key: a, tolerationSeconds: 0, value: \"\"}]}",
         "{tolerations: [{key: a, tolerationSeconds: 0}]}"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("of a one-of group only the patch's member stays", "[merge]") {
    const Case cases[] = {
        {"a volume changes its source", "{volumes: [{name: v, emptyDir: {medium: Memory}}]}",
         "{volumes: [{name: v, hostPath: {path: /x}}]}", "{volumes: [{name: v, hostPath: {path: /x}}]}"},
        {"a volume of the same source is merged",
         "{volumes: [{name: v, persistentVolumeClaim: {claimName: a, "
         "readOnly: true}}]}",
         "{volumes: [{name: v, persistentVolumeClaim: {claimName: b}}]}",
         "{volumes: [{name: v, persistentVolumeClaim: {claimName: b, readOnly: true}}]}"},
        {"a volume without a source keeps the runtime's", "{volumes: [{name: v, emptyDir: {}}]}",
         "{volumes: [{name: v}]}", "{volumes: [{name: v, emptyDir: {}}]}"},
        {"an empty source is a source", "{volumes: [{name: v, hostPath: {path: /x}}]}",
         "{volumes: [{name: v, emptyDir: {}}]}", "{volumes: [{name: v, emptyDir: {}}]}"},
        {"a value gives way to a source", "{containers: [{name: main, env: [{name: A, value: x}]}]}",
         "{containers: [{name: main, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}",
         "{containers: [{name: main, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}"},
        {"a source gives way to a value",
         "{containers: [{name: main, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}",
         "{containers: [{name: main, env: [{name: A, value: x}]}]}",
         "{containers: [{name: main, env: [{name: A, value: x}]}]}"},
        {"a source gives way to another",
         "{containers: [{name: main, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}",
         "{containers: [{name: main, env: [{name: A, valueFrom: {fieldRef: {fieldPath: p}}}]}]}",
         "{containers: [{name: main, env: [{name: A, valueFrom: {fieldRef: {fieldPath: p}}}]}]}"},
        {"a claim gives way to a template", "{resourceClaims: [{name: c, resourceClaimName: x}]}",
         "{resourceClaims: [{name: c, resourceClaimTemplateName: w}]}",
         "{resourceClaims: [{name: c, resourceClaimTemplateName: w}]}"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("keys of string maps are never directives", "[merge]") {
    const Case cases[] = {
        {"$patch", "{nodeSelector: {a: b}}", "{nodeSelector: {$patch: replace, c: d}}",
         "{nodeSelector: {a: b, c: d, $patch: replace}}"},
        {"$retainKeys", "{nodeSelector: {a: b}}", "{nodeSelector: {$retainKeys: c}}",
         "{nodeSelector: {a: b, $retainKeys: c}}"},
        {"names of fields", "{nodeSelector: {a: b}}", "{nodeSelector: {containers: x, volumes: \"\"}}",
         "{nodeSelector: {a: b, containers: x, volumes: \"\"}}"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("an empty patch changes nothing", "[merge]") {
    const Json base = tree("{replicatedJobs: [{name: a, template: null}], network: {}}");
    for (const Json& patch :
         {Json(), Json::object(), tree("{replicatedJobs: []}"), tree("{replicatedJobs: null}")})
        CHECK(merge::strategic_merge(base, patch, merge::job_set_spec()).value() == base);
}

TEST_CASE("a patch that is not an object is an error", "[merge]") {
    for (const Json& patch : {Json("x"), Json(3), Json::array({"x"})})
        CHECK_FALSE(merge::strategic_merge(Json::object(), patch, merge::job_set_spec()));
}
