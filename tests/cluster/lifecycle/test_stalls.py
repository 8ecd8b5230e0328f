"""TrainJobs whose JobSet is not made, or does not start, say why."""

import json
import os
import pathlib
import subprocess

import pytest

from jobs import runtime, train_job
from progress import pods, running_pods, until, until_not_created, until_runs
from rest import ApiError, conditions, wait_for

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"


def two_steps(name, **job_set):
    """Returns a runtime with another job before the trainer's."""
    made = runtime(name)
    spec = made["spec"]["template"]["spec"]
    node = spec["replicatedJobs"][0]
    first = {"name": "first", "template": {"spec": {"template": {
        "metadata": {"labels": {"signalbox.test/run-seconds": "never"}},
        "spec": {"containers": [{"name": "first", "image": "registry.example.com/first:1"}]}}}}}
    spec["replicatedJobs"] = [first, node]
    spec.update(job_set)
    return made


def quota(rest, used=None, **hard):
    """Makes the only quota of a kind, of which `used` are used, by default all. The controller counts once, from a cache that may lack what
    was made just before: then one more would be admitted."""
    name, allowed = next(iter(hard.items()))
    kind = "count/jobs.batch" if name == "jobs" else f"count/{name}"
    want = {kind: str(allowed if used is None else used)}

    def made():
        if rest.get("resourcequotas", name) is None:
            rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": {kind: str(allowed)}}})
        counted = rest.get("resourcequotas", name).get("status", {}).get("used")
        if counted and counted != want:
            rest.delete("resourcequotas", name)
        return counted == want
    wait_for(f"a quota of {allowed} {name}", made)


@pytest.mark.together(first=True)
def test_a_job_without_jobs_or_pods_says_why_and_one_that_waits_for_others_does_not(signalbox, rest):
    rest.create(runtime())
    waits = two_steps("waits-for-another")
    waits["spec"]["template"]["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "first", "status": "Complete"}]
    rest.create(waits)
    rest.create(train_job("waiting", "waits-for-another", seconds="never"))
    until_runs(rest, "waiting")
    ordered = two_steps("starts-in-order", startupPolicy={"startupPolicyOrder": "InOrder"})
    # Its Pod stays Pending.
    ordered["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    rest.create(ordered)
    rest.create(train_job("ordered", "starts-in-order", seconds="never"))
    wait_for("its first Pod", lambda: pods(rest, "ordered"))
    quota(rest, pods=2)
    rest.create(train_job("no-pods", seconds="never"))
    wait_for("its Job", lambda: rest.get("jobs", "no-pods-node-0"))
    quota(rest, jobs=3)
    rest.create(train_job("no-jobs", seconds="never"))
    wait_for("its Service", lambda: rest.get("services", "no-jobs"))
    quota(rest, services=4)
    rest.create(train_job("no-service", seconds="never"))
    for name, reason in (("no-pods", "PodsNotCreated"), ("no-jobs", "JobsNotCreated"), ("no-service", "JobsNotCreated")):
        job = until(rest, name, "Stalled", reason, timeout=60)
        said = job["status"]["conditions"][-1]
        assert said["type"] == "Stalled" and "exceeded quota" in said["message"]
        assert conditions(job)["Created"]["status"] == "True"
    assert conditions(rest.get("trainjobs", "no-pods"))["Stalled"]["message"].startswith("job node: ")
    assert 'services "no-service"' in conditions(rest.get("trainjobs", "no-service"))["Stalled"]["message"]
    for name in ("jobs", "pods", "services"):
        rest.delete("resourcequotas", name)
    for name in ("no-pods", "no-jobs", "no-service"):
        wait_for(f"{name} to go on", lambda: "Stalled" not in conditions(rest.get("trainjobs", name)), 60)
        until_runs(rest, name)
    # By now these have waited for more than half a minute, too.
    for name in ("waiting", "ordered"):
        assert "Stalled" not in conditions(rest.get("trainjobs", name))


@pytest.mark.long
def test_a_job_says_that_jobs_cannot_be_created_when_it_is_their_turn(signalbox, rest):
    """JobSet stores no counts until it has created the Jobs. The last ones may be of before the end of the first job's Pod, when Signalbox
    reads the events after five minutes, or of between that and the Job's completion."""
    refused = two_steps("second-is-refused")
    first, second = refused["spec"]["template"]["spec"]["replicatedJobs"]
    first["template"]["spec"]["template"]["metadata"]["labels"]["signalbox.test/run-seconds"] = "3"
    second["dependsOn"] = [{"name": "first", "status": "Complete"}]
    rest.create(refused)
    quota(rest, used=0, jobs=1)
    rest.create(train_job("refused", "second-is-refused", seconds="never"))
    wait_for("its first Job to complete", lambda: (rest.get("jobs", "refused-first-0") or {}).get("status", {}).get("succeeded"))
    assert rest.get("trainjobs", "refused")["status"]["jobsStatus"][0]["succeeded"] == 0
    wait_for("the quota's words", lambda: conditions(rest.get("trainjobs", "refused")).get("Stalled"), 660)
    stalled = conditions(rest.get("trainjobs", "refused"))["Stalled"]
    assert stalled["reason"] in ("JobsNotCreated", "PodsNotCreated")
    assert 'job "refused-node-0" creation failed' in stalled["message"] and "exceeded quota" in stalled["message"]
    rest.delete("resourcequotas", "jobs")
    wait_for("it to go on", lambda: "Stalled" not in conditions(rest.get("trainjobs", "refused")), 120)
    until_runs(rest, "refused")


def containers(obj):
    return obj["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]


def without_image(name):
    """Returns a TrainJob that leaves the image to its runtime."""
    job = train_job(name, "imageless", seconds="never")
    del job["spec"]["trainer"]["image"]
    return job


def test_a_job_of_a_runtime_without_its_image_is_denied_or_says_so_until_it_gives_one(signalbox, rest):
    made = rest.create(runtime("imageless"))
    with signalbox.without_reconciler():
        rest.create(without_image("admitted"))
        image = containers(made)[0].pop("image")
        made = rest.replace("clustertrainingruntimes", made)
    said = until_not_created(rest, "admitted", "JobsBuildFailed")["message"]
    assert "spec.trainer.image" in said and "job node, container node" in said
    rest.patch("trainjobs", "admitted", {"spec": {"trainer": {"image": image}}})
    until_runs(rest, "admitted")
    assert conditions(rest.get("trainjobs", "admitted"))["Created"]["reason"] == "JobsCreationSucceeded"

    denied = without_image("denied")
    for image in (None, ""):
        denied["spec"]["trainer"]["image"] = image
        with pytest.raises(ApiError) as caught:
            rest.create(denied)
        assert [cause["field"] for cause in caught.value.status["details"]["causes"]] == ["spec.trainer.image"]
    containers(made).append({"name": "sidecar"})
    rest.replace("clustertrainingruntimes", made)
    with pytest.raises(ApiError) as caught:
        rest.create(train_job("denied", "imageless"))
    assert [cause["field"] for cause in caught.value.status["details"]["causes"]] == ["spec.runtimeRef"]
    assert "container sidecar" in str(caught.value)


def owner_of(obj):
    return obj and next((owner["uid"] for owner in obj["metadata"].get("ownerReferences", []) if owner["controller"]), None)


@pytest.mark.together
def test_a_job_that_is_named_like_a_service_says_so_until_that_is_gone_and_jobset_has_made_its_own(signalbox, rest, kubectl):
    """JobSet takes any Service of the name for its own, and does not notice that one of others goes."""
    rest.create(runtime())
    rest.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "inference"},
                 "spec": {"selector": {"app": "inference"}, "ports": [{"port": 80}]}})
    with pytest.raises(RuntimeError) as warned:
        kubectl("create", "--dry-run=server", "--warnings-as-errors", "-f", "-", input=json.dumps(train_job("inference")))
    assert f"Service {rest.namespace}/inference exists already" in str(warned.value)
    rest.create(train_job("inference", seconds="never"))
    rest.create(train_job("trained", seconds="never"))
    until_runs(rest, "inference")
    said = conditions(until(rest, "inference", "Stalled", "ServiceTaken", timeout=60))["Stalled"]
    assert f"Service {rest.namespace}/inference exists already" in said["message"]
    assert owner_of(rest.get("services", "inference")) is None and running_pods(rest, "inference")
    for command in (("explain", "inference"), ("list", "-o", "wide")):
        shown = subprocess.run([PROGRAM, *command], capture_output=True, text=True, check=True, timeout=60,
                               env={**os.environ, "KUBECONFIG": str(kubectl.keywords["kubeconfig"])}).stdout
        assert "stalled" in shown and f"Service {rest.namespace}/inference exists already" in shown

    rest.delete("services", "inference")
    wait_for("JobSet's own Service", timeout=120, probe=lambda: (
        owner_of(rest.get("services", "inference")) == rest.get("jobsets", "inference")["metadata"]["uid"]))
    wait_for("it to go on", lambda: "Stalled" not in conditions(rest.get("trainjobs", "inference")), 60)
    assert "Stalled" not in conditions(rest.get("trainjobs", "trained"))
    assert running_pods(rest, "inference")
