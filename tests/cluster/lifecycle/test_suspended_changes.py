"""Changes of a suspended TrainJob: its JobSet is updated or recreated."""

import contextlib

import pytest

from jobs import runtime, train_job
from progress import resume, running_pods, suspend, uid, until, until_alone, until_held, until_runs
from rest import ApiError, wait_for


def patch_of(replicated_job):
    """Returns a runtime patch of the trainer's replicated job."""
    return {"manager": "signalbox.test/change",
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", **replicated_job}]}}}}


def pods_with(spec=None, **metadata):
    return {"template": {"spec": {"template": {"metadata": metadata, "spec": spec or {}}}}}


# Changes by a patch in the trainer's job, and whether the JobSet stays the same. JobSet allows five kinds of change while it is
# suspended.
CHANGES = {
    "pod labels": (pods_with(labels={"example.com/a": "b"}), True),
    "pod annotations": (pods_with(annotations={"example.com/a": "b"}), True),
    "node selector": (pods_with({"nodeSelector": {"a": "b"}}), True),
    "tolerations": (pods_with({"tolerations": [{"key": "a", "operator": "Exists"}]}), True),
    "scheduling gates": (pods_with({"schedulingGates": [{"name": "example.com/a"}]}), True),
    "all five": (pods_with({"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}],
                            "schedulingGates": [{"name": "example.com/a"}]}, labels={"c": "d"}, annotations={"e": "f"}), True),
    "job labels": ({"template": {"metadata": {"labels": {"example.com/a": "b"}}}}, False),
    "job annotations": ({"template": {"metadata": {"annotations": {"example.com/a": "b"}}}}, False),
    "affinity": (pods_with({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]}}}}), False),
    "one of each kind": ({"template": {"metadata": {"labels": {"example.com/c": "d"}},
                                       "spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}}, False),
}
# Changes that are withdrawn while suspended. JobSet would keep them in its existing Jobs, so the Jobs are replaced.
FIVE = ("pod labels", "pod annotations", "node selector", "tolerations", "scheduling gates")


def has(obj, part):
    """Returns whether `obj` has all members of `part`; an item of a list may be anywhere."""
    if isinstance(part, dict):
        return isinstance(obj, dict) and all(key in obj and has(obj[key], value) for key, value in part.items())
    if isinstance(part, list):
        return isinstance(obj, list) and all(any(has(there, item) for there in obj) for item in part)
    return obj == part


@pytest.mark.together(first=True)
def test_mutable_fields_of_a_suspended_job_set_are_updated_and_others_recreate_it(signalbox, rest):
    blueprint = runtime("with-sidecar")
    template = blueprint["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["containers"].append({"name": "sidecar", "image": "registry.example.com/sidecar:1"})
    rest.create(blueprint)
    # job: the patch before, the patch after, what is present then and what is absent, whether the JobSet stays
    rows = {name.replace(" ", "-"): (None, change, change, None, stays) for name, (change, stays) in CHANGES.items()}
    rows |= {f"no-{name}".replace(" ", "-"): (CHANGES[name][0], pods_with(), {}, CHANGES[name][0], True) for name in FIVE}
    for name, (before, *_) in rows.items():
        rest.create(train_job(name, "with-sidecar", suspend=True, **({"runtimePatches": [patch_of(before)]} if before else {})))
    old = {name: uid(until_held(rest, name)) for name in rows}
    for name, (_, after, *_) in rows.items():
        rest.patch("trainjobs", name, {"spec": {"runtimePatches": [patch_of(after)]}})

    def changed(name):
        _, _, visible, withdrawn, stays = rows[name]
        job_set = rest.get("jobsets", name)
        job = rest.get("jobs", f"{name}-node-0")
        there = job_set and has(job_set["spec"]["replicatedJobs"][0], visible)
        # The Job has them as well; its template is one level higher.
        gone = not withdrawn or not has(job_set["spec"]["replicatedJobs"][0], withdrawn) and job and not has(job, withdrawn["template"])
        return job_set if there and gone and (stays or uid(job_set) != old[name]) else None
    new = {name: wait_for(f"the change of {name}", lambda: changed(name)) for name in rows}
    assert {name: uid(new[name]) == old[name] for name in rows} == {name: row[4] for name, row in rows.items()}


@contextlib.contextmanager
def a_disk(rest, job):
    """Creates a volume for the claim "data" of that TrainJob."""
    disk = rest.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"generateName": "disk-"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"},
        "claimRef": {"namespace": rest.namespace, "name": f"data-{job}"}}})
    yield
    rest.delete("persistentvolumes", disk["metadata"]["name"])


def storing():
    """Returns a runtime with a volume claim, which is deleted with its JobSet."""
    made = runtime("storing")
    spec = made["spec"]["template"]["spec"]
    size = {"resources": {"requests": {"storage": "1024Mi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    spec["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "data"}, "spec": size}]}]
    pod = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return made


@pytest.mark.together
def test_a_suspended_job_with_volume_claims_is_resumed_and_keeps_its_job_set(signalbox, rest):
    rest.create(storing())
    with a_disk(rest, "keeper"):
        rest.create(train_job("keeper", "storing", suspend=True))
        before = until_held(rest, "keeper")
        # A default that makes the live list differ from the applied one.
        assert before["spec"]["volumeClaimPolicies"][0]["retentionPolicy"] == {"whenDeleted": "Delete"}
        resume(rest, "keeper")
        until(rest, "keeper", "Complete")
        after = rest.get("jobsets", "keeper")
        assert uid(after) == uid(before)
        assert after["spec"]["volumeClaimPolicies"] == before["spec"]["volumeClaimPolicies"]


@pytest.mark.together
def test_volume_claims_of_a_job_that_never_ran_block_no_change(signalbox, rest):
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
    # Only a new JobSet can have this, and there is no checkpoint to lose.
    affinity = CHANGES["affinity"][0]["template"]["spec"]["template"]["spec"]
    rest.patch("trainjobs", "undecided", {"spec": {"runtimePatches": [patch_of({"template": {"spec": {"template": {
        "metadata": {"labels": {"second": "x"}}, "spec": affinity}}}})]}})
    wait_for("the second label alone", lambda: "second" in labels() and "first" not in labels())
    assert uid(rest.get("jobsets", "undecided")) != uid(before)


def affinity_patch():
    return {**patch_of(CHANGES["affinity"][0]), "manager": "signalbox.test/affinity"}


@pytest.mark.together
def test_volume_claims_of_a_job_that_has_run_are_not_deleted_for_a_change(signalbox, rest):
    rest.create(storing())
    with a_disk(rest, "valuable"):
        rest.create(train_job("valuable", "storing", seconds="never"))
        until_runs(rest, "valuable")
        before = uid(rest.get("jobsets", "valuable"))
        suspend(rest, "valuable")
        until_held(rest, "valuable")
        with pytest.raises(ApiError) as denied:
            rest.patch("trainjobs", "valuable", {"spec": {"trainer": {"numNodes": 2}}})
        (cause,) = denied.value.status["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("FieldValueForbidden", "spec.trainer.numNodes")
        assert "it needs a new JobSet, and that would delete its volume claims with what they hold" in cause["message"]
        patches = rest.get("trainjobs", "valuable")["spec"]["runtimePatches"]
        with pytest.raises(ApiError) as denied:
            rest.patch("trainjobs", "valuable", {"spec": {"runtimePatches": [*patches, affinity_patch()]}})
        (cause,) = denied.value.status["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("FieldValueForbidden", f"spec.runtimePatches[{len(patches)}]")
        assert "it needs a new JobSet, and that would delete its volume claims with what they hold" in cause["message"]
        resume(rest, "valuable")
        until_runs(rest, "valuable")
        assert uid(rest.get("jobsets", "valuable")) == before


@pytest.mark.together
def test_a_job_is_made_anew_as_it_began_although_its_runtime_was_deleted_and_made_anew(signalbox, rest):
    def era(name, nodes):
        made = runtime("reborn", "TrainingRuntime", ml_policy={"numNodes": nodes})
        pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod["containers"][0]["env"] = [{"name": "ERA", "value": name}]
        return made

    def of_runtime(name, **spec):
        job = train_job(name, "reborn", "TrainingRuntime", seconds="never", **spec)
        del job["spec"]["trainer"]["numNodes"]
        return job

    def eras():
        return [each["value"] for pod in running_pods(rest, "begun") for each in pod["spec"]["containers"][0]["env"]
                if each["name"] == "ERA"]
    rest.create(era("first", 2))
    rest.create(of_runtime("begun"))
    wait_for("its Pods", lambda: eras() == ["first"] * 2)
    rest.delete("trainingruntimes", "reborn")
    rest.create(era("second", 3))
    suspend(rest, "begun")
    before = uid(until_held(rest, "begun"))
    # Only a new JobSet can have the affinity.
    patches = [*rest.get("trainjobs", "begun")["spec"]["runtimePatches"], affinity_patch()]
    rest.patch("trainjobs", "begun", {"spec": {"suspend": False, "runtimePatches": patches}})
    wait_for("its Pods", lambda: uid(rest.get("jobsets", "begun")) not in (None, before) and eras() == ["first"] * 2)
    rest.create(of_runtime("younger", suspend=True))
    assert until_held(rest, "younger")["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 3


@pytest.mark.together
def test_fields_that_others_add_to_a_suspended_job_set_do_not_recreate_it(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("guest", suspend=True))
    before = until_held(rest, "guest")
    before["spec"]["replicatedJobs"][0]["template"]["spec"]["template"].setdefault("metadata", {}).setdefault(
        "labels", {})["example.com/foreign"] = "yes"
    rest.replace("jobsets", before)
    resume(rest, "guest")
    until(rest, "guest", "Complete")
    assert uid(rest.get("jobsets", "guest")) == uid(before)


def pod_patch(manager, **pod_spec):
    return {**patch_of({"template": {"spec": {"template": {"spec": pod_spec}}}}), "manager": manager}


def add_to_job_set(rest, name, key):
    """Adds a toleration and a node selector as another controller, next to Signalbox's."""
    job_set = rest.get("jobsets", name)
    pod = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["nodeSelector"]["kubernetes.io/os"] = "linux"
    pod["tolerations"].append({"key": key, "operator": "Exists"})
    rest.replace("jobsets", job_set)


def tolerated(pod):
    return {toleration["key"] for toleration in pod["spec"]["tolerations"]}


def test_entries_that_others_add_to_node_selector_and_tolerations_stay(signalbox, admin, rest):
    rest.create(runtime())
    ours = pod_patch("signalbox.test/ours", nodeSelector={"kubernetes.io/hostname": "node-1"},
                     tolerations=[{"key": "example.com/ours", "operator": "Exists"}])
    rest.create(train_job("shared", seconds="never", suspend=True, runtimePatches=[ours]))
    before = uid(until_held(rest, "shared"))
    add_to_job_set(rest, "shared", "example.com/foreign")
    rest.patch("trainjobs", "shared", {"metadata": {"labels": {"any": "change"}}})
    until_alone(admin)
    signalbox.wait_until_idle()
    written = signalbox.writes()
    rest.patch("trainjobs", "shared", {"metadata": {"labels": {"any": "other"}}})
    signalbox.wait_until_idle()
    assert signalbox.writes() == written
    resume(rest, "shared")
    until_runs(rest, "shared")
    (pod,) = running_pods(rest, "shared")
    assert {"example.com/ours", "example.com/foreign"} <= tolerated(pod)
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux"}
    assert uid(rest.get("jobsets", "shared")) == before


@pytest.mark.together
def test_withdrawn_fields_are_removed_also_where_others_have_written(signalbox, rest):
    rest.create(runtime())
    ours = pod_patch("signalbox.test/ours", nodeSelector={"kubernetes.io/hostname": "node-1"},
                     tolerations=[{"key": "example.com/ours", "operator": "Exists"},
                                  {"key": "example.com/kept", "operator": "Exists"}])
    rest.create(train_job("narrowed", seconds="never", suspend=True, runtimePatches=[ours]))
    until_held(rest, "narrowed")
    add_to_job_set(rest, "narrowed", "example.com/foreign")
    less = pod_patch("signalbox.test/ours", nodeSelector={"kubernetes.io/os": "linux"},
                     tolerations=[{"key": "example.com/kept", "operator": "Exists"}])
    others = [p for p in rest.get("trainjobs", "narrowed")["spec"]["runtimePatches"] if p["manager"] != ours["manager"]]
    rest.patch("trainjobs", "narrowed", {"spec": {"suspend": False, "runtimePatches": [*others, less]}})
    until_runs(rest, "narrowed")
    (pod,) = running_pods(rest, "narrowed")
    assert "example.com/ours" not in tolerated(pod) and "example.com/kept" in tolerated(pod)
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}


@pytest.mark.together
def test_a_label_withdrawn_from_a_suspended_job_set_is_gone_from_its_pods(signalbox, rest):
    rest.create(runtime())
    labelled = patch_of({"template": {"spec": {"template": {"metadata": {"labels": {"example.com/ours": "yes"}}}}}})
    rest.create(train_job("fickle", seconds="never", suspend=True, runtimePatches=[labelled]))
    before = uid(until_held(rest, "fickle"))
    kept = [p for p in rest.get("trainjobs", "fickle")["spec"]["runtimePatches"] if p["manager"] != labelled["manager"]]
    rest.patch("trainjobs", "fickle", {"spec": {"suspend": False, "runtimePatches": kept}})
    until_runs(rest, "fickle")
    assert "example.com/ours" not in running_pods(rest, "fickle")[0]["metadata"]["labels"]
    assert uid(rest.get("jobsets", "fickle")) == before
