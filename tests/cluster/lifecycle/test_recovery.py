"""What a TrainJob survives on the real control plane: objects that go, stand in the way, are refused or cannot change."""

import contextlib

from jobs import runtime, train_job
from rest import conditions, true_conditions, wait_for

HOLD = "signalbox.test/hold"


def until(rest, name, kind, timeout=30):
    return wait_for(f"{name} to be {kind}", lambda: kind in true_conditions(rest.get("trainjobs", name)), timeout)


def until_not_created(rest, name, reason):
    """The condition Created, once it is False for that reason."""
    def look():
        created = conditions(rest.get("trainjobs", name)).get("Created", {})
        return created if (created.get("status"), created.get("reason")) == ("False", reason) else None
    return wait_for(f"{name} to be refused: {reason}", look)


def running_pods(rest, name):
    pods = rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")
    return [p for p in pods if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]]


def until_runs(rest, name):
    wait_for(f"a running pod of {name}", lambda: running_pods(rest, name))


def until_held(rest, name):
    """The suspended JobSet, once JobSet's controller has seen it and the TrainJob says so."""
    until(rest, name, "Suspended")
    wait_for(f"{name} to be settled", lambda: all(
        rest.get("trainjobs", name)["status"].get("jobsStatus", [{}])[0].get(count) == want
        for count, want in (("active", 0), ("suspended", 1))))
    return rest.get("jobsets", name)


def resume(rest, name):
    rest.patch("trainjobs", name, {"spec": {"suspend": False}})


def uid(obj):
    return (obj or {}).get("metadata", {}).get("uid")


def owner(obj):
    return (obj or {}).get("metadata", {}).get("ownerReferences", [{}])[0].get("uid")


def warnings(rest, name, reason):
    return [e for e in rest.list("events") if e["reason"] == reason and e["regarding"]["name"] == name]


@contextlib.contextmanager
def held_back(rest, kind, name):
    """Keeps an object that is deleted from going."""
    rest.patch(kind, name, {"metadata": {"finalizers": [HOLD]}})
    try:
        yield
    finally:
        if rest.get(kind, name):
            rest.patch(kind, name, {"metadata": {"finalizers": None}})


def patch_of(replicated_job):
    """A runtime patch of the replicated job that trains."""
    return {"manager": "signalbox.test/change",
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", **replicated_job}]}}}}


def test_a_job_set_that_is_deleted_mid_run_is_built_again(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("robbed", seconds="never"))
    until_runs(rest, "robbed")
    before = uid(rest.get("jobsets", "robbed"))
    rest.delete("jobsets", "robbed")
    wait_for("a new JobSet", lambda: uid(rest.get("jobsets", "robbed")) not in (None, before))
    until_runs(rest, "robbed")
    wait_for("the warning", lambda: warnings(rest, "robbed", "JobSetRecreated"))
    assert not {"Complete", "Failed"} & set(conditions(rest.get("trainjobs", "robbed")))


def test_a_job_set_is_built_again_although_pods_of_the_old_one_still_end(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("haunted", seconds=8))
    until_runs(rest, "haunted")
    (ghost,) = running_pods(rest, "haunted")
    before = uid(rest.get("jobsets", "haunted"))
    with held_back(rest, "pods", ghost["metadata"]["name"]):
        rest.delete("jobsets", "haunted")
        wait_for("a new JobSet", lambda: uid(rest.get("jobsets", "haunted")) not in (None, before))
        wait_for("the old pod to be ending", lambda: "deletionTimestamp" in rest.get(
            "pods", ghost["metadata"]["name"])["metadata"])
        signalbox.wait_until_idle()
        assert not {"Complete", "Failed"} & set(conditions(rest.get("trainjobs", "haunted")))
    until(rest, "haunted", "Complete", timeout=60)
    assert uid(rest.get("jobsets", "haunted")) != before


def test_a_job_that_is_being_deleted_still_meets_its_deadline_and_gets_no_new_job_set(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("stuck", seconds="never", activeDeadlineSeconds=4))
    until_runs(rest, "stuck")
    with held_back(rest, "trainjobs", "stuck"):
        rest.delete("trainjobs", "stuck")
        until(rest, "stuck", "Failed")
        assert true_conditions(rest.get("trainjobs", "stuck"))["Failed"]["reason"] == "DeadlineExceeded"
        wait_for("its JobSet to go", lambda: rest.get("jobsets", "stuck") is None)
        signalbox.wait_until_idle()
        assert rest.get("jobsets", "stuck") is None
    wait_for("the TrainJob to go", lambda: rest.get("trainjobs", "stuck") is None)


def test_a_quota_that_refuses_the_job_set_is_told_and_raising_it_helps(signalbox, rest):
    counted = "count/jobsets.jobset.x-k8s.io"
    rest.create(runtime())
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"},
                 "spec": {"hard": {counted: "0"}}})
    try:
        wait_for("the quota to count", lambda: rest.get("resourcequotas", "few").get("status", {}).get("used"))
        rest.create(train_job("many"))
        assert "exceeded quota: few" in until_not_created(rest, "many", "JobsCreationFailed")["message"]
        rest.patch("resourcequotas", "few", {"spec": {"hard": {counted: "3"}}})
        until(rest, "many", "Complete")
        assert true_conditions(rest.get("trainjobs", "many"))["Created"]["reason"] == "JobsCreationSucceeded"
    finally:
        rest.delete("resourcequotas", "few")


def test_a_runtime_that_is_gone_before_the_first_build_is_waited_for(signalbox, rest):
    rest.create(runtime("elusive"))
    signalbox.stop_reconciler()
    rest.create(train_job("patient", "elusive"))
    rest.delete("clustertrainingruntimes", "elusive")
    signalbox.start_reconciler()
    assert '"elusive" does not exist' in until_not_created(rest, "patient", "JobsBuildFailed")["message"]
    assert rest.get("jobsets", "patient") is None
    rest.create(runtime("elusive"))
    until(rest, "patient", "Complete")


def test_a_suspended_job_takes_a_change_that_its_job_set_refuses(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("rigid", suspend=True))
    before = uid(until_held(rest, "rigid"))
    # Labels of a Job, unlike those of its pods, are immutable in a JobSet.
    change = patch_of({"template": {"metadata": {"labels": {"example.com/team": "blue"}}}})
    rest.patch("trainjobs", "rigid", {"spec": {"suspend": False, "runtimePatches": [change]}})
    until(rest, "rigid", "Complete")
    after = rest.get("jobsets", "rigid")
    assert uid(after) != before
    assert after["spec"]["replicatedJobs"][0]["template"]["metadata"]["labels"]["example.com/team"] == "blue"


def pods(spec=None, **metadata):
    return {"template": {"spec": {"template": {"metadata": metadata, "spec": spec or {}}}}}


# What a patch changes in the job that trains, of which a JobSet lets five things change while it is suspended; and
# whether it stays the same JobSet.
CHANGES = {
    "pod labels": (pods(labels={"example.com/a": "b"}), True),
    "pod annotations": (pods(annotations={"example.com/a": "b"}), True),
    "node selector": (pods({"nodeSelector": {"a": "b"}}), True),
    "tolerations": (pods({"tolerations": [{"key": "a", "operator": "Exists"}]}), True),
    "scheduling gates": (pods({"schedulingGates": [{"name": "example.com/a"}]}), True),
    "all five": (pods({"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}],
                       "schedulingGates": [{"name": "example.com/a"}]}, labels={"c": "d"}, annotations={"e": "f"}), True),
    "job labels": ({"template": {"metadata": {"labels": {"example.com/a": "b"}}}}, False),
    "job annotations": ({"template": {"metadata": {"annotations": {"example.com/a": "b"}}}}, False),
    "affinity": (pods({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]}}}}), False),
    "service account": (pods({"serviceAccountName": "default"}), False),
    "image pull secrets": (pods({"imagePullSecrets": [{"name": "a"}]}), False),
    "security context": (pods({"securityContext": {"runAsUser": 1000}}), False),
    "volumes": (pods({"volumes": [{"name": "scratch", "emptyDir": {}}],
                      "containers": [{"name": "node", "volumeMounts": [{"name": "scratch", "mountPath": "/s"}]}]}), False),
    "environment": (pods({"containers": [{"name": "sidecar", "env": [{"name": "A", "value": "b"}]}]}), False),
    "one of each kind": (pods({"nodeSelector": {"a": "b"}, "serviceAccountName": "default"}), False),
}
# Taken back while suspended: JobSet would leave them with the Jobs that it has made.
FIVE = ("pod labels", "pod annotations", "node selector", "tolerations", "scheduling gates")


def has(obj, part):
    """Whether all that `part` says is so in `obj`; lists by any of their items."""
    if isinstance(part, dict):
        return isinstance(obj, dict) and all(key in obj and has(obj[key], value) for key, value in part.items())
    if isinstance(part, list):
        return isinstance(obj, list) and all(any(has(there, item) for there in obj) for item in part)
    return obj == part


def test_what_a_suspended_job_set_may_change_is_changed_and_all_else_makes_it_anew(signalbox, rest):
    blueprint = runtime()
    template = blueprint["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["containers"].append({"name": "sidecar", "image": "registry.example.com/sidecar:1"})
    rest.create(blueprint)
    # job: the patch before, the patch after, what there is to see then, whether the JobSet stays
    rows = {name.replace(" ", "-"): (None, change, change, stays) for name, (change, stays) in CHANGES.items()}
    rows |= {f"no-{name}".replace(" ", "-"): (CHANGES[name][0], pods(), {}, False) for name in FIVE}
    for name, (before, *_) in rows.items():
        rest.create(train_job(name, suspend=True, **({"runtimePatches": [patch_of(before)]} if before else {})))
    old = {name: uid(until_held(rest, name)) for name in rows}
    for name, (_, after, *_) in rows.items():
        rest.patch("trainjobs", name, {"spec": {"runtimePatches": [patch_of(after)]}})

    def changed(name):
        _, _, visible, stays = rows[name]
        job_set = rest.get("jobsets", name)
        there = job_set and has(job_set["spec"]["replicatedJobs"][0], visible)
        return job_set if there and (stays or uid(job_set) != old[name]) else None
    new = {name: wait_for(f"the change of {name}", lambda: changed(name)) for name in rows}
    assert {name: uid(new[name]) == old[name] for name in rows} == {name: row[3] for name, row in rows.items()}
    for name in FIVE:
        withdrawn, _ = CHANGES[name]
        assert not has(new[f"no-{name}".replace(" ", "-")]["spec"]["replicatedJobs"][0], withdrawn)


@contextlib.contextmanager
def a_disk(rest):
    """What the volume claim of storing() gets."""
    rest.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
                 "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"}}})
    try:
        yield
    finally:
        rest.delete("persistentvolumes", "disk")


def storing():
    """A runtime with a volume claim, which goes with its JobSet."""
    made = runtime("storing")
    spec = made["spec"]["template"]["spec"]
    size = {"resources": {"requests": {"storage": "1024Mi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    spec["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "data"}, "spec": size}]}]
    pod = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return made


def test_a_suspended_job_with_volume_claims_is_resumed_and_keeps_its_job_set(signalbox, rest):
    rest.create(storing())
    with a_disk(rest):
        rest.create(train_job("keeper", "storing", suspend=True))
        before = until_held(rest, "keeper")
        # What makes the list another one than we sent.
        assert before["spec"]["volumeClaimPolicies"][0]["retentionPolicy"] == {"whenDeleted": "Delete"}
        resume(rest, "keeper")
        until(rest, "keeper", "Complete")
        after = rest.get("jobsets", "keeper")
        assert uid(after) == uid(before)
        assert after["spec"]["volumeClaimPolicies"] == before["spec"]["volumeClaimPolicies"]


def test_volume_claims_of_a_job_that_never_ran_keep_no_change_out(signalbox, rest):
    def labelled(name):
        return [patch_of({"template": {"spec": {"template": {"metadata": {"labels": {name: "x"}}}}}})]

    def labels():
        job_set = rest.get("jobsets", "undecided")
        template = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] if job_set else {}
        return template.get("metadata", {}).get("labels", {})

    rest.create(storing())
    rest.create(train_job("undecided", "storing", suspend=True))
    before = until_held(rest, "undecided")
    rest.patch("trainjobs", "undecided", {"spec": {"runtimePatches": labelled("first")}})
    wait_for("the first label", lambda: "first" in labels())
    assert uid(rest.get("jobsets", "undecided")) == uid(before)
    # A label that is withdrawn would stay on the Jobs: only a new JobSet helps, and there is no checkpoint to lose.
    rest.patch("trainjobs", "undecided", {"spec": {"runtimePatches": labelled("second")}})
    wait_for("the second label alone", lambda: "second" in labels() and "first" not in labels())
    assert uid(rest.get("jobsets", "undecided")) != uid(before)


def test_volume_claims_of_a_job_that_has_run_are_not_thrown_away_for_a_change(signalbox, rest):
    rest.create(storing())
    with a_disk(rest):
        rest.create(train_job("valuable", "storing", seconds="never"))
        until_runs(rest, "valuable")
        before = uid(rest.get("jobsets", "valuable"))
        rest.patch("trainjobs", "valuable", {"spec": {"suspend": True}})
        until_held(rest, "valuable")
        rest.patch("trainjobs", "valuable", {"spec": {"runtimePatches": []}})
        told = until_not_created(rest, "valuable", "JobsCreationFailed")
        assert "would delete its volume claims" in told["message"]
        assert uid(rest.get("jobsets", "valuable")) == before


def test_what_others_put_into_a_suspended_job_set_does_not_cost_it_its_life(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("guest", suspend=True))
    before = until_held(rest, "guest")
    before["spec"]["replicatedJobs"][0]["template"]["spec"]["template"].setdefault("metadata", {}).setdefault(
        "labels", {})["example.com/theirs"] = "yes"
    rest.replace("jobsets", before)
    resume(rest, "guest")
    until(rest, "guest", "Complete")
    assert uid(rest.get("jobsets", "guest")) == uid(before)


def pod_patch(manager, **pod_spec):
    return {**patch_of({"template": {"spec": {"template": {"spec": pod_spec}}}}), "manager": manager}


def add_to_job_set(rest, name, key):
    """As somebody else: a toleration and a node selector next to ours."""
    job_set = rest.get("jobsets", name)
    pod = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["nodeSelector"]["kubernetes.io/os"] = "linux"
    pod["tolerations"].append({"key": key, "operator": "Exists"})
    rest.replace("jobsets", job_set)


def tolerated(pod):
    return {toleration["key"] for toleration in pod["spec"]["tolerations"]}


def test_what_others_put_next_to_our_node_selector_and_tolerations_stays(signalbox, rest):
    rest.create(runtime())
    ours = pod_patch("signalbox.test/ours", nodeSelector={"kubernetes.io/hostname": "node-1"},
                     tolerations=[{"key": "example.com/ours", "operator": "Exists"}])
    rest.create(train_job("shared", seconds="never", suspend=True, runtimePatches=[ours]))
    before = uid(until_held(rest, "shared"))
    add_to_job_set(rest, "shared", "example.com/theirs")
    rest.patch("trainjobs", "shared", {"metadata": {"labels": {"any": "change"}}})
    signalbox.wait_until_idle()
    written = signalbox.writes()
    rest.patch("trainjobs", "shared", {"metadata": {"labels": {"any": "other"}}})
    signalbox.wait_until_idle()
    assert signalbox.writes() == written
    resume(rest, "shared")
    until_runs(rest, "shared")
    (pod,) = running_pods(rest, "shared")
    assert {"example.com/ours", "example.com/theirs"} <= tolerated(pod)
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux"}
    assert uid(rest.get("jobsets", "shared")) == before


def test_what_we_withdraw_is_gone_also_where_others_have_written(signalbox, rest):
    rest.create(runtime())
    ours = pod_patch("signalbox.test/ours", nodeSelector={"kubernetes.io/hostname": "node-1"},
                     tolerations=[{"key": "example.com/ours", "operator": "Exists"},
                                  {"key": "example.com/kept", "operator": "Exists"}])
    rest.create(train_job("narrowed", seconds="never", suspend=True, runtimePatches=[ours]))
    until_held(rest, "narrowed")
    add_to_job_set(rest, "narrowed", "example.com/theirs")
    less = pod_patch("signalbox.test/ours", nodeSelector={"kubernetes.io/os": "linux"},
                     tolerations=[{"key": "example.com/kept", "operator": "Exists"}])
    others = [p for p in rest.get("trainjobs", "narrowed")["spec"]["runtimePatches"] if p["manager"] != ours["manager"]]
    rest.patch("trainjobs", "narrowed", {"spec": {"suspend": False, "runtimePatches": [*others, less]}})
    until_runs(rest, "narrowed")
    (pod,) = running_pods(rest, "narrowed")
    assert "example.com/ours" not in tolerated(pod) and "example.com/kept" in tolerated(pod)
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_a_label_that_we_withdraw_from_a_suspended_job_set_is_gone_from_its_pods(signalbox, rest):
    rest.create(runtime())
    labelled = patch_of({"template": {"spec": {"template": {"metadata": {"labels": {"example.com/ours": "yes"}}}}}})
    rest.create(train_job("fickle", seconds="never", suspend=True, runtimePatches=[labelled]))
    before = uid(until_held(rest, "fickle"))
    kept = [p for p in rest.get("trainjobs", "fickle")["spec"]["runtimePatches"] if p["manager"] != labelled["manager"]]
    rest.patch("trainjobs", "fickle", {"spec": {"suspend": False, "runtimePatches": kept}})
    until_runs(rest, "fickle")
    assert "example.com/ours" not in running_pods(rest, "fickle")[0]["metadata"]["labels"]
    assert uid(rest.get("jobsets", "fickle")) != before


def test_a_job_set_of_somebody_else_that_goes_away_makes_room(signalbox, rest):
    rest.create(runtime())
    container = {"name": "x", "image": "registry.example.com/other:1"}
    template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}
    rest.create({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                 "metadata": {"name": "narrow", "namespace": "default"},
                 "spec": {"suspend": True, "replicatedJobs": [{"name": "x", "template": template}]}})
    job = rest.create(train_job("narrow"))
    until_not_created(rest, "narrow", "JobsCreationFailed")
    rest.delete("jobsets", "narrow")
    until(rest, "narrow", "Complete")
    assert owner(rest.get("jobsets", "narrow")) == uid(job)


def test_a_running_job_does_not_mind_that_its_runtime_and_its_snapshot_are_gone(signalbox, rest):
    rest.create(runtime("passing"))
    rest.create(train_job("settled", "passing", seconds="never"))
    until_runs(rest, "settled")
    rest.delete("clustertrainingruntimes", "passing")
    rest.delete("configmaps", "settled-runtime-snapshot")
    signalbox.restart_reconciler()
    signalbox.wait_until_idle()
    assert true_conditions(rest.get("trainjobs", "settled"))["Created"]["reason"] == "JobsCreationSucceeded"
    rest.patch("trainjobs", "settled", {"spec": {"suspend": True}})
    until(rest, "settled", "Suspended")
    wait_for("its pods to go", lambda: not running_pods(rest, "settled"))


def test_runtimes_lose_the_finalizer_of_older_controllers_and_can_be_deleted(signalbox, rest):
    def finalizers(kind, name):
        return rest.get(kind, name)["metadata"].get("finalizers", [])
    legacy = "trainer.kubeflow.org/resource-in-use"
    old = runtime("old")
    old["metadata"]["finalizers"] = [legacy]
    shared = runtime("shared", kind="TrainingRuntime")
    shared["metadata"]["finalizers"] = [legacy, HOLD]
    signalbox.stop_reconciler()
    rest.create(old)
    rest.create(shared)
    rest.delete("clustertrainingruntimes", "old")
    assert rest.get("clustertrainingruntimes", "old")["metadata"]["deletionTimestamp"]
    signalbox.start_reconciler()
    wait_for("the deleted runtime to go", lambda: rest.get("clustertrainingruntimes", "old") is None)
    wait_for("only the other finalizer", lambda: finalizers("trainingruntimes", "shared") == [HOLD])
    rest.patch("trainingruntimes", "shared", {"metadata": {"finalizers": None}})


def test_a_name_that_is_used_again_waits_for_the_old_job_set_to_go(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("again", seconds="never"))
    until_runs(rest, "again")
    old = rest.get("jobsets", "again")
    with held_back(rest, "jobsets", "again"):
        rest.delete("trainjobs", "again")
        wait_for("the old TrainJob to go", lambda: rest.get("trainjobs", "again") is None)
        new = rest.create(train_job("again"))
        assert "JobSet default/again" in until_not_created(rest, "again", "JobsCreationFailed")["message"]
        assert uid(rest.get("jobsets", "again")) == uid(old)
    # The last test of the file: the garbage collector learns of a new CRD only after half a minute.
    until(rest, "again", "Complete", timeout=60)
    assert owner(rest.get("jobsets", "again")) == uid(new)
