"""What a JobSet keeps while its TrainJob is suspended, changed and resumed, in a cluster that changes JobSets: by JobSet's webhook,
policies, retained volume claims, quotas."""

import contextlib
import json

import pytest

from jobs import runtime, train_job
from progress import events, resume, running_pods, since, suspend, uid, until, until_held, until_not_created, until_runs
from rest import ApiError, wait_for
from test_suspended_changes import a_disk, storing

SIZE = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}


# Only a new JobSet has another affinity.
ANYWHERE = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]}}}


def job_template(blueprint, number=0):
    return blueprint["spec"]["template"]["spec"]["replicatedJobs"][number]["template"]["spec"]


def pod_patch(manager="signalbox.test/pods", **spec):
    """Returns a patch like Kueue's."""
    metadata = {"labels": spec.pop("labels")} if "labels" in spec else {}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": metadata, "spec": spec}}}}]}}}}


def patch(rest, name, *patches, **spec):
    """Changes runtime patches, except those that set how long the pods run."""
    managers = [each["manager"] for each in patches]
    others = [each for each in rest.get("trainjobs", name)["spec"].get("runtimePatches", []) if each["manager"] not in managers]
    rest.patch("trainjobs", name, {"spec": {"runtimePatches": [*others, *patches], **spec}})


def refusals(rest, name):
    return events(rest, name, "JobsCreationFailed")


def test_a_job_set_whose_failure_rules_the_webhook_has_named_is_kept(signalbox, rest):
    blueprint = runtime("with-failure-rules")
    blueprint["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 1, "rules": [
        {"name": "", "action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}]}
    rest.create(blueprint)
    rest.create(train_job("ruled", "with-failure-rules", seconds="never", suspend=True))
    before = until_held(rest, "ruled")
    assert before["spec"]["failurePolicy"]["rules"][0]["name"] == "failurePolicyRule0"
    signalbox.wait_until_idle()
    patch(rest, "ruled", pod_patch(labels={"example.com/a": "b"}), suspend=False)
    until_runs(rest, "ruled")
    assert running_pods(rest, "ruled")[0]["metadata"]["labels"]["example.com/a"] == "b"
    assert uid(rest.get("jobsets", "ruled")) == uid(before)


@contextlib.contextmanager
def changing(rest, admin, name, patches):
    """Installs a MutatingAdmissionPolicy for JobSets of the test's namespace, on CREATE."""
    api = "/apis/admissionregistration.k8s.io/v1/"
    name = f"{name}-{rest.namespace}"
    admin.request("POST", api + "mutatingadmissionpolicies", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"],
                                                    "resources": ["jobsets"]}],
                                 "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": rest.namespace}}},
            "reinvocationPolicy": "Never", "failurePolicy": "Fail",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{', '.join(patches)}]"}}]}})
    admin.request("POST", api + "mutatingadmissionpolicybindings", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name}})
    container = {"name": "node", "image": "registry.example.com/probe:1"}
    probe = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "probe", "annotations": {"a": "b"}}, "spec": {
        "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}]}}
    wait_for("the policy", lambda: "mirror" in json.dumps(rest.create(probe, dry_run=True)))
    try:
        yield
    finally:
        admin.request("DELETE", api + f"mutatingadmissionpolicybindings/{name}")
        admin.request("DELETE", api + f"mutatingadmissionpolicies/{name}")


IMAGE = "/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image"
MIRROR = f'JSONPatch{{op: "replace", path: "{IMAGE}", value: "mirror.example.com/any:1"}}'
NO_NOTES = 'JSONPatch{op: "remove", path: "/metadata/annotations"}'


@pytest.mark.together
def test_a_job_set_whose_images_a_policy_has_changed_is_kept(signalbox, rest, admin):
    rest.create(runtime())
    with changing(rest, admin, "mirror", [MIRROR]):
        rest.create(train_job("mirrored", seconds="never", suspend=True))
        before = until_held(rest, "mirrored")
        patch(rest, "mirrored", pod_patch(labels={"example.com/a": "b"}), suspend=False)
        until_runs(rest, "mirrored")
    (pod,) = running_pods(rest, "mirrored")
    assert pod["metadata"]["labels"]["example.com/a"] == "b"
    assert pod["spec"]["containers"][0]["image"] == "mirror.example.com/any:1"
    assert uid(rest.get("jobsets", "mirrored")) == uid(before)


def test_a_job_set_that_the_cluster_mutates_is_recreated_three_times_and_no_more(signalbox, rest, admin):
    rest.create(runtime())
    with changing(rest, admin, "forgetful", [MIRROR, NO_NOTES]):
        rest.create(train_job("unlike", suspend=True))
        condition = until_not_created(rest, "unlike", "JobsCreationFailed")
        assert "containers[0].image: must not change in a JobSet" in condition["message"]
        assert "created again 3 times" in condition["message"]
        before = uid(rest.get("jobsets", "unlike"))
        # A new process does not recreate it either.
        signalbox.restart_reconciler()
        signalbox.wait_until_idle()
        assert uid(rest.get("jobsets", "unlike")) == before


def initialized(name="initialized", **spec):
    """Returns a runtime with an initializer that takes a second."""
    blueprint = runtime(name, **spec)
    trains = blueprint["spec"]["template"]["spec"]["replicatedJobs"][0]
    trains["dependsOn"] = [{"name": "prepare", "status": "Complete"}]
    prepare = {"name": "prepare", "template": {"spec": {"backoffLimit": 0, "template": {
        "spec": {"containers": [{"name": "prepare", "image": "registry.example.com/base:1"}]}}}}}
    blueprint["spec"]["template"]["spec"]["replicatedJobs"] = [prepare, trains]
    return blueprint


def until_trains(rest, name):
    wait_for("the job that trains", lambda: [each for each in (rest.get("trainjobs", name).get("status") or {}).get("jobsStatus", [])
                                             if each["name"] == "node" and each["active"]])


@pytest.mark.together
def test_a_job_that_moves_after_its_initializers_keeps_them_and_its_claims(signalbox, rest):
    """Like an eviction by Kueue, and an admission to another place."""
    blueprint = initialized()
    job_template(blueprint, 1)["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    blueprint["spec"]["template"]["spec"]["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "data"}, "spec": SIZE}]}]
    rest.create(blueprint)
    place = pod_patch("kueue.x-k8s.io/manager", nodeSelector={"kubernetes.io/hostname": "node-1"},
                      tolerations=[{"key": "example.com/flavor", "operator": "Exists"}], labels={"example.com/flavor": "a"})
    with a_disk(rest, "moved"):
        rest.create(train_job("moved", "initialized", seconds="never", runtimePatches=[place]))
        until_trains(rest, "moved")
        kept = [uid(rest.get(*each)) for each in (("jobsets", "moved"), ("jobs", "moved-prepare-0"), ("persistentvolumeclaims", "data-moved"))]
        suspend(rest, "moved")
        until(rest, "moved", "Suspended")
        wait_for("its pods to end", lambda: not any(each["active"] for each in rest.get("trainjobs", "moved")["status"]["jobsStatus"]))
        patch(rest, "moved", {"manager": "kueue.x-k8s.io/manager"})
        wait_for("the Job without the withdrawn label", lambda: "example.com/flavor" not in json.dumps(
            (rest.get("jobs", "moved-node-0") or {"spec": "example.com/flavor"})["spec"]))
        patch(rest, "moved", pod_patch("kueue.x-k8s.io/manager", nodeSelector={"kubernetes.io/os": "linux"}), suspend=False)
        until_trains(rest, "moved")
        (pod,) = running_pods(rest, "moved")
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
        assert "example.com/flavor" not in json.dumps(pod["spec"].get("tolerations")) + json.dumps(pod["metadata"]["labels"])
        assert kept == [uid(rest.get(*each)) for each in (
            ("jobsets", "moved"), ("jobs", "moved-prepare-0"), ("persistentvolumeclaims", "data-moved"))]
        assert not refusals(rest, "moved")


@pytest.mark.together
def test_a_job_whose_initializers_have_finished_keeps_its_number_of_nodes(signalbox, rest):
    rest.create(initialized("prepared"))
    rest.create(train_job("prepared", "prepared", seconds="never"))
    until_trains(rest, "prepared")
    suspend(rest, "prepared")
    wait_for("its pods to end", lambda: not any(each["active"] for each in rest.get("trainjobs", "prepared")["status"]["jobsStatus"]))
    with pytest.raises(ApiError) as denied:
        rest.patch("trainjobs", "prepared", {"spec": {"trainer": {"numNodes": 2}}})
    (cause,) = denied.value.status["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueForbidden", "spec.trainer.numNodes")
    assert "it needs a new JobSet, and that would run again what has finished" in cause["message"]


@pytest.mark.together
def test_a_suspended_job_is_resumed_as_it_was_built_although_its_snapshot_is_gone_and_its_runtime_is_another_one(signalbox, rest):
    rest.create(runtime("lost"))
    before = {}
    for name in ("as-before", "relabelled"):
        rest.create(train_job(name, "lost", seconds="never", suspend=True))
        before[name] = until_held(rest, name)
    changed = rest.get("clustertrainingruntimes", "lost")
    job_template(changed)["template"]["spec"]["containers"][0]["image"] = "registry.example.com/another:1"
    rest.replace("clustertrainingruntimes", changed)
    for name in before:
        rest.delete("configmaps", f"{name}-runtime-snapshot")
    resume(rest, "as-before")
    patch(rest, "relabelled", pod_patch(labels={"example.com/a": "b"}), suspend=False)
    for name, job_set in before.items():
        until_runs(rest, name)
        assert uid(rest.get("jobsets", name)) == uid(job_set)
        assert "another" not in running_pods(rest, name)[0]["spec"]["containers"][0]["image"]
    (kept,) = wait_for("the event", lambda: events(rest, "relabelled", "JobSetKept"))
    assert kept["note"].startswith("The JobSet goes on as it was built: it cannot be built anew: spec.runtimeRef: ConfigMap ")
    assert not events(rest, "as-before", "JobSetKept")


@pytest.mark.together
def test_a_deleted_job_set_is_created_again_with_its_remaining_claims(signalbox, rest):
    blueprint = runtime("keeping")
    job_template(blueprint)["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    blueprint["spec"]["template"]["spec"]["volumeClaimPolicies"] = [
        {"retentionPolicy": {"whenDeleted": "Retain"}, "templates": [{"metadata": {"name": "data"}, "spec": SIZE}]}]
    rest.create(blueprint)
    with a_disk(rest, "left"):
        rest.create(train_job("left", "keeping", seconds="never"))
        until_runs(rest, "left")
        claim = rest.get("persistentvolumeclaims", "data-left")
        assert claim["spec"]["volumeName"]
        rest.delete("jobsets", "left", propagation="Foreground")
        wait_for("the warning", lambda: events(rest, "left", "JobSetRecreated"))
        until_runs(rest, "left")
        assert uid(rest.get("persistentvolumeclaims", "data-left")) == uid(claim)
        # Afterwards it can be changed and resumed like any other.
        suspend(rest, "left")
        until_held(rest, "left")
        patch(rest, "left", pod_patch(labels={"example.com/a": "b"}), suspend=False)
        wait_for("the label", lambda: [pod for pod in running_pods(rest, "left") if "example.com/a" in pod["metadata"]["labels"]])
        assert not refusals(rest, "left")


@pytest.mark.together
def test_a_job_set_stays_if_its_successor_would_be_denied(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("bounded", suspend=True))
    before = uid(until_held(rest, "bounded"))
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
                 "spec": {"hard": {"count/jobsets.jobset.x-k8s.io": "0"}}})
    wait_for("the quota", lambda: rest.get("resourcequotas", "none").get("status", {}).get("hard"))
    rest.patch("trainjobs", "bounded", {"spec": {"labels": {"a": "b"}, "runtimePatches": [
        pod_patch(affinity=ANYWHERE)]}})
    condition = until_not_created(rest, "bounded", "JobsCreationFailed")
    assert "the change needs a new JobSet, which would be refused: " in condition["message"] and "exceeded quota" in condition["message"]
    assert uid(rest.get("jobsets", "bounded")) == before
    rest.delete("resourcequotas", "none")
    wait_for("a new JobSet", lambda: uid(rest.get("jobsets", "bounded")) not in (None, before), timeout=60)


@pytest.mark.together
def test_a_job_set_is_recreated_although_the_quota_of_job_sets_is_full(signalbox, rest):
    count = "count/jobsets.jobset.x-k8s.io"
    rest.create(runtime())
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"}, "spec": {"hard": {count: "1"}}})
    wait_for("the quota", lambda: rest.get("resourcequotas", "one").get("status", {}).get("hard"))
    rest.create(train_job("alone", suspend=True))
    before = uid(until_held(rest, "alone"))
    assert rest.get("resourcequotas", "one")["status"]["used"] == {count: "1"}
    patch(rest, "alone", pod_patch(affinity=ANYWHERE))
    wait_for("a new JobSet", lambda: uid(rest.get("jobsets", "alone")) not in (None, before))
    until(rest, "alone", "Created")
    resume(rest, "alone")
    until(rest, "alone", "Complete")


def nodes(job_set):
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"]


def test_a_job_set_that_a_late_resume_sets_going_with_a_former_number_of_nodes_is_made_anew_or_kept(signalbox, rest):
    rest.create(runtime())
    rest.create(storing())
    with a_disk(rest, "valued"):
        rest.create(train_job("renewed", seconds="never", suspend=True))
        rest.create(train_job("valued", "storing", seconds="never", suspend=True))
        before = {name: uid(until_held(rest, name)) for name in ("renewed", "valued")}
        with signalbox.without_reconciler():
            for name in before:
                rest.patch("trainjobs", name, {"spec": {"trainer": {"numNodes": 2}}})
                # As a request of the reconciler does that was on its way.
                rest.patch("jobsets", name, {"spec": {"suspend": False}})
                resume(rest, name)
            until_runs(rest, "valued")
        (kept,) = wait_for("the event", lambda: events(rest, "valued", "JobSetKept"))
        assert kept["type"] == "Warning" and kept["note"] == (
            "The JobSet runs with another number of nodes than spec.trainer.numNodes: "
            "a new one would delete its volume claims with what they hold")
        wait_for("two Pods", lambda: len(running_pods(rest, "renewed")) == 2)
        renewed, valued = (rest.get("jobsets", name) for name in before)
        assert uid(renewed) != before["renewed"] and nodes(renewed) == 2
        assert uid(valued) == before["valued"] and nodes(valued) == 1 and not valued["spec"]["suspend"]
        assert not events(rest, "renewed", "JobSetKept")
        suspend(rest, "valued")
        until_held(rest, "valued")
        resume(rest, "valued")
        until_runs(rest, "valued")
        assert nodes(rest.get("jobsets", "valued")) == 1
        assert uid(rest.get("jobsets", "valued")) == before["valued"]


def test_a_deadline_counts_from_a_resume_that_no_reconciler_has_seen(signalbox, rest):
    rest.create(runtime())
    with signalbox.without_reconciler():
        rest.create(train_job("slept", seconds="never", suspend=True, activeDeadlineSeconds=6))
        created = rest.get("trainjobs", "slept")["metadata"]["creationTimestamp"]
        # The test waits as long as the deadline.
        wait_for("six seconds", lambda: probe_time(rest) >= seconds(created) + 7, interval=0.3)
        resume(rest, "slept")
        resumed = probe_time(rest)
    job = until(rest, "slept", "Failed", "DeadlineExceeded")
    assert since(job, "Failed") >= resumed + 5
    assert abs(since(job, "Suspended") - resumed) <= 1
    assert rest.get("trainjobs", "slept")["status"]["jobsStatus"], "it ran"


def seconds(text):
    return since({"status": {"conditions": [{"type": "x", "lastTransitionTime": text}]}}, "x")


def probe_time(rest):
    """Returns the API server's time."""
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}}
    return seconds(rest.create(probe, dry_run=True)["metadata"]["creationTimestamp"])


@pytest.mark.together
def test_many_tolerations_fit_into_the_record_of_the_applied_template(signalbox, rest):
    blueprint = runtime("wide")
    jobs = blueprint["spec"]["template"]["spec"]["replicatedJobs"]
    tolerations = [{"key": f"example.com/{'t' * 60}-{number}", "operator": "Exists"} for number in range(64)]
    for number in range(40):
        jobs.append(json.loads(json.dumps({"name": f"w{number}", "template": {"spec": {"template": {"spec": {
            "tolerations": tolerations, "containers": [{"name": "w", "image": "registry.example.com/base:1"}]}}}}})))
    rest.create(blueprint)
    rest.create(train_job("tolerant", "wide", suspend=True))
    until(rest, "tolerant", "Created")
    assert len(rest.get("jobsets", "tolerant")["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"]) < 65536


@contextlib.contextmanager
def an_older_job_set(admin, rest, field, value):
    """Installs JobSet's CRD without that field of the spec, which has a value to try."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobsets.jobset.x-k8s.io"
    place = f"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/{field}"
    known = admin.request("GET", path)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][field]
    pods = {"restartPolicy": "Never", "containers": [{"name": "node", "image": "example.com/node"}]}
    probe = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "probe"}, "spec": {
        field: value, "replicatedJobs": [{"name": "node", "template": {"spec": {
            "completionMode": "Indexed", "completions": 1, "parallelism": 1, "template": {"spec": pods}}}}]}}
    admin.request("PATCH", path, [{"op": "remove", "path": place}], "application/json-patch+json")
    try:
        wait_for("the API server to have the CRD", lambda: field not in rest.create(probe, dry_run=True)["spec"])
        yield
    finally:
        admin.request("PATCH", path, [{"op": "add", "path": place, "value": known}], "application/json-patch+json")


def test_a_field_that_the_clusters_jobset_does_not_know_is_reported(signalbox, rest, admin):
    blueprint = runtime("newer")
    coordinator = {"replicatedJob": "node", "jobIndex": 0, "podIndex": 0}
    blueprint["spec"]["template"]["spec"]["coordinator"] = coordinator
    rest.create(blueprint)
    with an_older_job_set(admin, rest, "coordinator", coordinator):
        rest.create(train_job("ahead", "newer"))
        condition = until_not_created(rest, "ahead", "JobsCreationFailed")
        assert ".spec.coordinator: field not declared in schema" in condition["message"]
    until(rest, "ahead", "Created", timeout=60)
