#include "runtime/compare.hpp"

#include "api/names.hpp"
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
        {"empty is as good as absent", "{a: \"\", b: [], labels: {}, d: null}", "{}", true},
        {"so is what has nothing else", "{metadata: {labels: {}}, resources: {limits: {}}}", "{}", true},
        {"false is not", "{a: false}", "{}", false},
        {"an empty directory is a volume", "{emptyDir: {}}", "{hostPath: {path: /x}}", false},
        {"an empty selector takes all", "{namespaceSelector: {}}", "{}", false},
        {"an empty selector has defaults", "{labelSelector: {}}", "{labelSelector: {matchLabels: {}}}", true},
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
        {"absent and an empty map", "{labels: {}}", "{}", true},
        {"an empty map and null", "{nodeSelector: {}}", "{nodeSelector: null}", true},
        {"nested ones do add up", "{spec: {template: {metadata: {}, a: []}}}", "{}", true},
        {"nested ones count for nothing", "{a: {b: []}}", "{a: {}}", true},
        {"an empty text is a value", "{a: \"\"}", "{}", false},
        {"false is a value", "{a: false}", "{}", false},
        {"an empty directory is something", "{emptyDir: {}}", "{}", false},
        {"so is an empty source of files", "{projected: {sources: [{downwardAPI: {}}]}}",
         "{projected: {sources: [{}]}}", false},
        {"an empty selector of namespaces takes all", "{namespaceSelector: {}}", "{}", false},
        {"an empty selector of labels takes all", "{labelSelector: {}}", "{labelSelector: null}", false},
        {"an empty selector of volumes", "{selector: {}}", "{}", false},
        {"an empty context hides the Pod's", "{securityContext: {seLinuxOptions: {}}}",
         "{securityContext: {}}", false},
        {"an empty policy is one", "{mlPolicy: {torch: {}}}", "{mlPolicy: {}}", false},
        {"an empty term", "{preference: {}, podAffinityTerm: {}}", "{}", true},
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

TEST_CASE("the applied hash shows whether the object changes", "[runtime]") {
    const Json object =
        tree("{kind: JobSet, metadata: {name: a, annotations: {x: z}}, spec: {suspend: true}}");
    const Json wanted = runtime::with_applied_hash(object);
    CHECK(runtime::applied_hash(wanted).size() == 16);
    CHECK(runtime::applied_hash(object).empty());
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

namespace {

// Of a JobSet whose one Pod template is this.
Json job_set_of(const char* pod_template, const char* source = "0123456789abcdef") {
    Json object = tree(
        "{kind: JobSet, metadata: {name: a}, spec: {suspend: true, network: {a: b}, replicatedJobs: "
        "[{name: node, template: {spec: {template: {}}}}, {name: other}]}}");
    object["spec"]["replicatedJobs"].items().front()["template"]["spec"]["template"] = tree(pod_template);
    return runtime::with_applied_hash(std::move(object), {.source = source});
}

std::string_view note_on(const Json& object) {
    return object["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"].as_string();
}

Json with_note(Json object, std::string_view note) {
    object["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] = note;
    return object;
}

}  // namespace

TEST_CASE("a JobSet's annotation with its placement fields stays small", "[runtime]") {
    const Json placed = job_set_of("{spec: {nodeSelector: {zone: b}, tolerations: []}}");
    CHECK(runtime::applied_hash(placed).size() == 16);
    CHECK(note_on(placed).substr(50) == R"(... {"node":{"nodeSelector":{"zone":"b"}}})");
    CHECK(runtime::is_applied(placed, placed));
    CHECK(note_on(job_set_of("{}")).size() == 53);
    const runtime::BuildNote note = {
        .source = "0123456789abcdef", .nodes = "3", .runtime = "sha256:ab", .inputs = "a-b+"};
    const Json sized = runtime::with_applied_hash(placed, note);
    CHECK(note_on(sized).substr(50) == R"(.3.sha256:ab.a-b+ {"node":{"nodeSelector":{"zone":"b"}}})");
    CHECK(runtime::applied_hash(sized) == runtime::applied_hash(placed));
    CHECK(runtime::keeps_template(placed, sized));
    CHECK_FALSE(runtime::is_built_from_other(sized, note));
    CHECK(runtime::is_built_from_other(sized, {.source = note.source, .inputs = "a-c+"}));
    CHECK(runtime::is_built_from_other(sized, {.source = "other", .inputs = note.inputs}));
    CHECK_FALSE(runtime::is_applied(sized, placed));

    Json large = placed;
    Json& jobs = large["spec"]["replicatedJobs"];
    jobs.items().clear();
    for (int i = 0; i < 40; ++i) {
        Json job = tree("{template: {spec: {template: {spec: {nodeSelector: {zone: b}}}}}}");
        job["name"] = "job" + std::to_string(i);
        Json& pod = job["template"]["spec"]["template"]["spec"];
        for (int k = 0; k < 64; ++k)
            pod["tolerations"].push_back(
                Json::object({{"key", std::string(80, 'k') + std::to_string(k)}, {"operator", "Exists"}}));
        jobs.push_back(std::move(job));
    }
    const Json noted = runtime::with_applied_hash(large, {.source = "0123456789abcdef"});
    CHECK(to_json(large).size() > 262144);
    CHECK(note_on(noted).size() < 40000);
    CHECK(runtime::is_applied(noted, noted));
}

TEST_CASE("immutable fields of a JobSet count as equal unless a change of ours needs them", "[runtime]") {
    const Json wanted = job_set_of("{spec: {containers: [{image: a}]}}");
    const Json mirrored = with_note(job_set_of("{spec: {containers: [{image: mirror/a}]}}"), note_on(wanted));
    const Json labelled = job_set_of("{metadata: {labels: {a: b}}, spec: {containers: [{image: a}]}}", "1");
    const Json changed_image = job_set_of("{spec: {containers: [{image: b}]}}", "1");
    const Json later_release = job_set_of("{spec: {containers: [{image: a, env: [{name: A}]}]}}");
    CHECK(runtime::keeps_template(wanted, mirrored));
    CHECK(runtime::keeps_template(labelled, mirrored));
    CHECK_FALSE(runtime::keeps_template(changed_image, mirrored));
    // Fields that another release builds differently from the same source.
    CHECK(runtime::keeps_template(later_release, mirrored));
    // Kubeflow Trainer writes no annotation, and users can write anything.
    CHECK_FALSE(runtime::keeps_template(wanted, with_note(mirrored, "")));
    CHECK_FALSE(runtime::keeps_template(wanted, with_note(mirrored, "..")));
}

TEST_CASE("immutable fields are sent as they are stored, the others as they are built", "[runtime]") {
    const Json live = tree(
        "{spec: {suspend: true, failurePolicy: {rules: [{name: given}]}, replicatedJobs: [{name: node, "
        "groupName: default, template: {spec: {template: {metadata: {labels: {old: x}}, spec: {containers: "
        "[{image: mirror/a}], nodeSelector: {zone: a}, tolerations: [{key: k}]}}}}}]}}");
    const Json wanted = tree(
        "{metadata: {name: a}, spec: {suspend: false, failurePolicy: {rules: [{name: ''}]}, replicatedJobs: "
        "[{name: node, template: {spec: {template: {metadata: {labels: {new: x}}, spec: {containers: "
        "[{image: a}], tolerations: [{key: l}]}}}}}]}}");
    CHECK(
        runtime::with_live_template(wanted, live) ==
        tree("{metadata: {name: a}, spec: {suspend: false, failurePolicy: {rules: [{name: given}]}, "
             "replicatedJobs: [{name: node, groupName: default, template: {spec: {template: {metadata: "
             "{labels: {new: x}}, spec: {containers: [{image: mirror/a}], tolerations: [{key: l}]}}}}}]}}"));
    CHECK(runtime::changed_fixed_field(wanted, live) == "spec.failurePolicy.rules[0].name");
    Json image = live;
    Json& pod = image["spec"]["replicatedJobs"].items().front()["template"]["spec"]["template"];
    pod["spec"]["containers"].items().front()["image"] = "b";
    CHECK(runtime::changed_fixed_field(image, live) ==
          "spec.replicatedJobs[0].template.spec.template.spec.containers[0].image");
    CHECK(runtime::changed_fixed_field(live, live).empty());
}

TEST_CASE("resuming alone is distinguished from any other change", "[runtime]") {
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

TEST_CASE("what a merge patch has suspended needs no apply unless something else differs", "[runtime]") {
    const auto with_hash = [](const char* spec) {
        Json object = tree("{metadata: {name: a}}");
        object["spec"] = tree(spec);
        return runtime::with_applied_hash(std::move(object));
    };
    const Json running = with_hash("{suspend: false, a: 1}");
    const Json patched = changed(running, {{"spec.suspend", "true"}, {"spec.defaulted", "1"}});
    const Json ours = with_hash("{suspend: true, a: 1}");
    CHECK(runtime::is_applied_but_for_suspend(ours, ours, patched));
    CHECK_FALSE(runtime::is_applied(ours, patched));
    // To be resumed, or changed in more than that.
    CHECK_FALSE(runtime::is_applied_but_for_suspend(running, running, patched));
    const Json other = with_hash("{suspend: true, a: 2}");
    CHECK_FALSE(runtime::is_applied_but_for_suspend(other, other, patched));
    // A field that is withdrawn, or that another manager has changed.
    const Json fewer = with_hash("{suspend: true}");
    CHECK_FALSE(runtime::is_applied_but_for_suspend(fewer, fewer, patched));
    CHECK_FALSE(runtime::is_applied_but_for_suspend(ours, ours, changed(patched, {{"spec.a", "3"}})));
    CHECK_FALSE(
        runtime::is_applied_but_for_suspend(ours, ours, changed(patched, {{"metadata.annotations", "-"}})));
    // The rest of the note, of which a later comparison needs each part, would be written.
    CHECK_FALSE(runtime::is_applied_but_for_suspend(
        ours, ours,
        changed(patched, {{"metadata.annotations", ("{" + std::string(api::applied_hash_annotation) + ": '" +
                                                    runtime::applied_hash(patched) + ".b.c'}")
                                                       .c_str()}})));
    // What others have added is wanted as well.
    const Json more = changed(ours, {{"spec.b", "1"}});
    CHECK_FALSE(runtime::is_applied_but_for_suspend(ours, more, patched));
    CHECK(runtime::is_applied_but_for_suspend(ours, more, changed(patched, {{"spec.b", "1"}})));
}

TEST_CASE("a suspended JobSet needs an apply for another note", "[runtime]") {
    const Json object = tree("{metadata: {name: a}, spec: {suspend: true, a: 1}}");
    const auto noting = [&](const char* source, const char* nodes, const char* of,
                            const char* inputs = "inputs") {
        return runtime::with_applied_hash(
            object, {.source = source, .nodes = nodes, .runtime = of, .inputs = inputs});
    };
    const Json ours = noting("source", "3", "sha256:a");
    CHECK(runtime::is_applied_but_for_suspend(ours, ours, ours));
    CHECK(runtime::is_applied(ours, ours));
    for (const Json& other :
         {noting("source", "4", "sha256:a"), noting("source", "3", "sha256:b"), noting("source", "3", ""),
          noting("other", "3", "sha256:a"), noting("source", "3", "sha256:a", "other")}) {
        CHECK_FALSE(runtime::is_applied(ours, other));
        CHECK_FALSE(runtime::is_applied_but_for_suspend(ours, ours, other));
    }
}

TEST_CASE("an immutable field is sent as it is stored if that is also what is built", "[runtime]") {
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

TEST_CASE("labels that are withdrawn leave no empty object in what is applied", "[runtime]") {
    const Json live = tree(R"(
        metadata:
          managedFields:
          - manager: trainer
            operation: Apply
            fieldsV1:
              f:spec:
                f:replicatedJobs:
                  'k:{"name":"a"}':
                    f:name: {}
                    f:template:
                      f:spec:
                        f:template:
                          f:metadata: {f:labels: {f:team: {}}}
                          f:spec: {f:hostNetwork: {}}
        spec:
          replicatedJobs:
          - name: a
            template: {spec: {template: {metadata: {labels: {team: x}}, spec: {hostNetwork: true}}}})");
    const Json ours = tree(
        "{spec: {suspend: true, replicatedJobs: [{name: a, template: {spec: {template: {spec: {hostNetwork: "
        "true}}}}}]}}");
    const Json sent = runtime::with_applied_template(ours, ours, live);
    CHECK(sent["spec"]["replicatedJobs"] == ours["spec"]["replicatedJobs"]);
}
