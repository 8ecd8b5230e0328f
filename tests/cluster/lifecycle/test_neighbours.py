"""Suspended jobs beside JobSet, policies, users and kubelets that change or keep Jobs, defaults and volume claims."""

import contextlib
import copy

import pytest

from jobs import runtime, train_job
from progress import events, pods, resume, running_pods, suspend, uid, until, until_held, until_runs
from rest import wait_for
from test_kept_job_sets import SIZE, job_template, patch, pod_patch
from test_suspended_changes import a_disk

FLAVOR = pod_patch("kueue.x-k8s.io/manager", labels={"example.com/flavor": "a"})
NO_FLAVOR = {"manager": "kueue.x-k8s.io/manager"}


def until_rests(rest, name):
    until(rest, name, "Suspended")
    wait_for("its Pods to end", lambda: not any(each["active"] for each in rest.get("trainjobs", name)["status"]["jobsStatus"]))


def applied_fields(job_set):
    """Returns what is owned by apply, but for `suspend`, which a resume may also set by a merge patch."""
    (entry,) = [each for each in job_set["metadata"]["managedFields"] if each["manager"] == "trainer" and each["operation"] == "Apply"]
    return {name: fields for name, fields in entry["fieldsV1"]["f:spec"].items() if name != "f:suspend"}


def as_another_release_builds_it(live):
    """Returns the JobSet without the defaults of JobSet's webhook."""
    body = {"apiVersion": live["apiVersion"], "kind": "JobSet", "metadata": {
        "name": live["metadata"]["name"], "ownerReferences": live["metadata"]["ownerReferences"]},
            "spec": {"suspend": False, "replicatedJobs": copy.deepcopy(live["spec"]["replicatedJobs"])}}
    for job in body["spec"]["replicatedJobs"]:
        job.pop("groupName", None)
        job["template"]["spec"].pop("completionMode", None)
        job["template"]["spec"]["template"]["spec"].pop("restartPolicy", None)
    return body


def test_defaults_of_jobset_are_not_owned_so_that_other_releases_can_resume_suspended_jobs(signalbox, rest):
    rest.create(runtime())
    rest.create(train_job("lent", seconds="never", runtimePatches=[FLAVOR]))
    until_runs(rest, "lent")
    created = applied_fields(rest.get("jobsets", "lent"))
    suspend(rest, "lent")
    until_rests(rest, "lent")
    patch(rest, "lent", pod_patch("kueue.x-k8s.io/manager", labels={"example.com/flavor": "b"}))
    resume(rest, "lent")
    wait_for("the label", lambda: [pod for pod in running_pods(rest, "lent") if pod["metadata"]["labels"]["example.com/flavor"] == "b"])
    assert applied_fields(rest.get("jobsets", "lent")) == created
    suspend(rest, "lent")
    until_rests(rest, "lent")
    signalbox.wait_until_idle()
    with signalbox.without_reconciler():
        live = rest.get("jobsets", "lent")
        rest.request("PATCH", rest.path("jobsets", "lent") + "?fieldManager=trainer&force=true", as_another_release_builds_it(live),
                     "application/apply-patch+yaml")
        assert not rest.get("jobsets", "lent")["spec"]["suspend"]


def test_no_job_is_replaced_beside_a_terminating_pod(signalbox, rest):
    """The pod may be writing its last checkpoint."""
    blueprint = runtime()
    job_template(blueprint)["podReplacementPolicy"] = "Failed"
    rest.create(blueprint)
    rest.create(train_job("saves", seconds="never", runtimePatches=[FLAVOR]))
    until_runs(rest, "saves")
    old = running_pods(rest, "saves")[0]
    name = old["metadata"]["name"]
    # The finalizer stands for a kubelet that gives it the time.
    rest.patch("pods", name, {"metadata": {"finalizers": [*old["metadata"].get("finalizers", []), "example.com/saves"]}})
    try:
        suspend(rest, "saves")
        until_rests(rest, "saves")
        patch(rest, "saves", NO_FLAVOR, suspend=False)
        wait_for("the event", lambda: events(rest, "saves", "WaitingForPods"))
        assert rest.get("jobsets", "saves")["spec"]["suspend"]
        assert "deletionTimestamp" not in rest.get("jobs", "saves-node-0")["metadata"]
        assert [pod["metadata"]["name"] for pod in pods(rest, "saves")] == [name]
    finally:
        rest.patch("pods", name, {"metadata": {"finalizers": None}})
    (new,) = wait_for("the new Pod", lambda: [pod for pod in running_pods(rest, "saves") if pod["metadata"]["name"] != name], timeout=60)
    # The test bed's nodes do not let a deleted Pod fail. Its Job would wait for that, and the namespace for the Job.
    rest.patch("pods", new["metadata"]["name"], {"metadata": {"finalizers": None}})


@contextlib.contextmanager
def labelling_jobs(rest, admin, label):
    """Installs a MutatingAdmissionPolicy that gives the Pods of all Jobs of the test's namespace a label."""
    api = "/apis/admissionregistration.k8s.io/v1/"
    name = f"stamp-{rest.namespace}"
    admin.request("POST", api + "mutatingadmissionpolicies", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["batch"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["jobs"]}],
                                 "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": rest.namespace}}},
            "reinvocationPolicy": "Never", "failurePolicy": "Fail",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                "expression": f'[JSONPatch{{op: "add", path: "/spec/template/metadata/labels/{label}", value: "ml"}}]'}}]}})
    admin.request("POST", api + "mutatingadmissionpolicybindings", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name}})
    probe = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"}, "spec": {"template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
    wait_for("the policy", lambda: label in rest.create(probe, dry_run=True)["spec"]["template"]["metadata"]["labels"])
    try:
        yield
    finally:
        admin.request("DELETE", api + f"mutatingadmissionpolicybindings/{name}")
        admin.request("DELETE", api + f"mutatingadmissionpolicies/{name}")


@pytest.mark.together
def test_a_job_continues_although_a_policy_gives_all_jobs_the_withdrawn_label(signalbox, rest, admin):
    rest.create(runtime())
    with labelling_jobs(rest, admin, "team"):
        rest.create(train_job("labelled", seconds="never", suspend=True,
                              runtimePatches=[pod_patch("kueue.x-k8s.io/manager", labels={"team": "ml"})]))
        until_held(rest, "labelled")
        patch(rest, "labelled", NO_FLAVOR, suspend=False)
        until_runs(rest, "labelled")
    (event,) = wait_for("the event", lambda: events(rest, "labelled", "JobsNotReplaced"))
    assert "label team of Job " + rest.namespace + "/labelled-node-0" in event["note"]
    assert "trainer.kubeflow.org/withdrawn" not in rest.get("jobsets", "labelled")["metadata"]["annotations"]


@pytest.mark.together
def test_a_job_restarts_with_an_empty_claim_after_its_claim_and_job_set_are_deleted(signalbox, rest):
    blueprint = runtime("fresh")
    job_template(blueprint)["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    blueprint["spec"]["template"]["spec"]["volumeClaimPolicies"] = [
        {"retentionPolicy": {"whenDeleted": "Retain"}, "templates": [{"metadata": {"name": "data"}, "spec": SIZE}]}]
    rest.create(blueprint)
    with a_disk(rest, "fresh"):
        rest.create(train_job("fresh", "fresh", seconds="never"))
        until_runs(rest, "fresh")
        before = rest.get("persistentvolumeclaims", "data-fresh")
        rest.delete("persistentvolumeclaims", "data-fresh")
        rest.delete("jobsets", "fresh")
        with a_disk(rest, "fresh"):
            until_runs(rest, "fresh")
            claim = wait_for("another claim", lambda: (found := rest.get("persistentvolumeclaims", "data-fresh"))
                             and uid(found) != uid(before) and found["status"]["phase"] == "Bound" and found)
            assert claim["spec"]["volumeName"] != before["spec"]["volumeName"]
            built = rest.get("jobsets", "fresh")["spec"]["volumeClaimPolicies"][0]["templates"][0]["spec"]
            assert "volumeName" not in built
