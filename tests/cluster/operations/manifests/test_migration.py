"""Signalbox takes over the objects of Kubeflow Trainer's controller manager in every state: no Pod ends, no condition is lost, and each
write has a reason. The same holds for Signalbox's own objects after a time with Kubeflow Trainer. tests/data/migration/README.md
describes how the objects were recorded."""

import copy
import datetime
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

from paths import ROOT
from controlplane import ControlPlane
from deployment import NAMESPACE, Program, Signalbox
from jobs import runtime, train_job
from progress import events, running_pods, suspend, uid, until
from rest import ApiError, Rest, conditions, true_conditions, wait_for
from restored import restore
from schema_server import load_all

DATA = ROOT / "tests" / "data" / "migration"
FINALIZER = "trainer.kubeflow.org/resource-in-use"  # of v2.2 and earlier; v2.3 removes it in time


def recorded(pattern):
    return {path.stem: load_all(path.read_text()) for path in sorted(DATA.glob(pattern))}


def moved(objects, namespace):
    """Returns the objects in another namespace."""
    objects = copy.deepcopy(objects)
    for each in objects:
        each["metadata"]["namespace"] = namespace
    return objects


STORIES = recorded("*.yaml") | recorded("back/ours-*.yaml")
STORIES["finalizer"] = moved(STORIES["running"], "finalizer")
STORIES["finalizer"][0]["metadata"]["finalizers"] = [FINALIZER]
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:signalbox-reconciler"
JOB = "job"  # the name of each story's TrainJob
SNAPSHOT = f"{JOB}-runtime-snapshot"
WRITING = {"create", "update", "patch", "delete", "deletecollection"}

# The expected writes with their reasons. Kubeflow Trainer has no condition Created: it is added, and an event reports it.
CREATED = [("patch", "trainjobs/status"), ("create", "events")]
# v2.2 kept no snapshot of a runtime.
SNAPPED = [("patch", "trainingruntimes"), ("create", "configmaps"), *CREATED]
# A suspended JobSet without Pods is adopted, with the hash of the applied object. Its Pods will be the same.
ADOPTED = [("patch", "jobsets"), *CREATED]
# Kubeflow Trainer does not store when a job started and what it began with.
BEGAN = [("patch", "trainjobs/status")]
WRITES = {
    "complete": [],
    "failed": [],
    "finalizer": [("patch", "trainingruntimes"), *CREATED],
    # The counts of its JobSet, which Kubeflow Trainer deleted at the same moment, are those of deleted Pods.
    "deadline": [("patch", "trainjobs/status")],
    "deadline-ahead": CREATED,
    # What its Pods have mounted stays as it is: the scripts, and the hosts of MPI.
    "flux": SNAPPED,
    "mpi": CREATED,
    "mpi-initialized": SNAPPED,
    "resumed": CREATED,
    "running": CREATED,
    "runtime-edited": CREATED,
    "runtime-gone": CREATED,
    "suspended": ADOPTED,
    "suspended-later": ADOPTED,
    "template-ttl": CREATED,
    "torch": CREATED,
    # tests/data/migration/back/changes.yaml has Kubeflow Trainer's changes of Signalbox's objects.
    "ours-complete": [],
    "ours-deadline": [],
    "ours-deadline-ahead": BEGAN,
    "ours-failed": [],
    # Its hash covers its owner, too, whose UID differs here.
    "ours-mpi": [("update", "configmaps"), *BEGAN],
    # Kubeflow Trainer suspended it and removed the hash.
    "ours-running": [("patch", "jobsets"), *BEGAN],
    # Kubeflow Trainer appends conditions; kubectl shows the last one, which is Created after a resume.
    "ours-suspended": [("patch", "trainjobs/status")],
    "ours-torch": BEGAN,
    "ours-ttl": [],
}


class AuditedPlane(ControlPlane):
    audit_rules = [{"level": "Metadata", "users": [ACCOUNT], "verbs": sorted(WRITING)}]

    def writes(self, namespace):
        """Returns (verb, resource) of each write of the reconciler there, in order."""
        events = [json.loads(line) for line in (self.directory / "audit.log").read_text().splitlines() if line.endswith("}")]
        about = [(each["verb"], each["objectRef"]) for each in events if each["user"]["username"] == ACCOUNT and each["verb"] in WRITING]
        return [(verb, "/".join(filter(None, (ref["resource"], ref.get("subresource")))))
                for verb, ref in about if ref.get("namespace") == namespace]


def said(node):
    """Returns the tree without empty members: Kubeflow Trainer writes `resources: {}` if nothing is requested."""
    if isinstance(node, dict):
        return {name: said(each) for name, each in node.items() if each not in ({}, [], None)}
    return [said(each) for each in node] if isinstance(node, list) else node


class Story:
    """One namespace with its recorded objects."""

    def __init__(self, rest, name):
        self.name = name
        self._rest = rest
        objects = STORIES[name]
        rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        restore(rest, objects)
        self.job_set = next((each for each in objects if each["kind"] == "JobSet"), None)

    def wait_until_at_rest(self):
        """Waits until JobSet's controller and the nodes have settled."""
        if not self.job_set:
            return
        want = {each["name"]: each for each in self.job_set["status"]["replicatedJobsStatus"]}
        wait_for(f"the JobSet of {self.name} to be as it was", lambda: {
            each["name"]: each for each in self.get("jobsets").get("status", {}).get("replicatedJobsStatus", [])} == want, timeout=60)

    def get(self, resource, name=JOB):
        return self._rest.get(resource, name, self.name)

    def seen(self):
        """Returns what must not change: Pods and JobSets by UID, their specs, and conditions."""
        job_set = self.get("jobsets") or {}
        return {
            "pods": sorted(pod["metadata"]["uid"] for pod in self._rest.list("pods", self.name)),
            "JobSet": (job_set.get("metadata", {}).get("uid"), said(job_set.get("spec"))),
            "others": {each["metadata"]["name"]: (each["metadata"]["uid"], each.get("data"))
                       for kind in ("configmaps", "secrets") for each in self._rest.list(kind, self.name)},
            "TrainJob": self.get("trainjobs")["spec"],
        }


def install_crds_of_then(cluster):
    """Installs the CRDs without their rules, so that objects can be stored that the rules forbid now."""
    for path in sorted((ROOT / "manifests" / "base" / "crds").glob("*runtimes.yaml")) + [ROOT / "manifests/base/crds/trainjobs.yaml"]:
        crd, = load_all(path.read_text())
        cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(without_rules(crd)))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")


def without_rules(node):
    if isinstance(node, dict):
        return {name: without_rules(each) for name, each in node.items() if name != "x-kubernetes-validations"}
    return [without_rules(each) for each in node] if isinstance(node, list) else node


@pytest.fixture(scope="module")
def cluster(request):
    with AuditedPlane() as plane:
        failed_before = request.session.testsfailed
        yield plane
        plane.keep_logs = request.session.testsfailed > failed_before


class Tenant:
    """Submits a TrainJob after the other while a cluster moves over. A context manager; then `submitted` and `refused` are complete."""

    def __init__(self, rest):
        self._rest = rest
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._submit)
        self.submitted = []  # (name, time)
        self.refused = []  # (text, time)

    def __enter__(self):
        self._rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._rest.namespace}})
        self._rest.create(runtime("load"))
        self._thread.start()
        wait_for("the first TrainJobs", lambda: len(self.submitted) > 3)
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _submit(self):
        number = 0
        while not self._stop.wait(0.1):
            number += 1
            try:
                self._rest.create(train_job(f"load-{number}", "load", seconds=1))
                self.submitted.append((f"load-{number}", time.monotonic()))
            except ApiError as error:
                self.refused.append((str(error), time.monotonic()))


@pytest.fixture(scope="module")
def tenant(cluster):
    return Tenant(Rest(cluster.kubeconfig, "load"))


@pytest.fixture(scope="module")
def taken_over(cluster, tenant):
    """Returns {name: (story, its objects before, its conditions before)}, after Signalbox was installed beside them and has settled."""
    rest = Rest(cluster.kubeconfig)
    install_crds_of_then(cluster)
    stories = [Story(rest, name) for name in STORIES]
    for story in stories:
        story.wait_until_at_rest()
    before = {story.name: (story, story.seen(), conditions(story.get("trainjobs"))) for story in stories}
    signalbox = Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"])
    with tenant:
        signalbox.install()
        # As while the original is stopped, the webhook configurations name a Service without Pods.
        wait_for("a TrainJob to be refused", lambda: tenant.refused)
        signalbox.start_webhook()
        signalbox.configure_webhooks()
        signalbox.start_reconciler()
        wait_for("a TrainJob to be accepted", lambda: tenant.submitted[-1][1] > tenant.refused[-1][1] + 1)
    signalbox.wait_until_idle()
    wait_for("the finalizer to be removed", lambda: "finalizers" not in rest.get("trainingruntimes", "plain", "finalizer")["metadata"])
    yield before
    assert signalbox.stop() == []


@pytest.fixture(params=STORIES)
def story(request, taken_over):
    return taken_over[request.param]


def test_no_pod_no_job_set_and_no_secret_is_touched(story):
    taken, before, _ = story
    after = taken.seen()
    if SNAPSHOT not in before["others"]:
        after["others"].pop(SNAPSHOT, None)
    assert after == before


def test_no_condition_is_lost_or_changed(story):
    taken, _, before = story
    after = conditions(taken.get("trainjobs"))
    assert {kind: after.get(kind) for kind in before} == before
    assert set(after) - set(before) <= {"Created"}


def test_each_write_has_its_reason(story, cluster):
    taken, _, _ = story
    assert sorted(cluster.writes(taken.name)) == sorted(WRITES[taken.name])


def test_a_suspended_job_runs_when_it_is_resumed(taken_over, cluster):
    taken, before, _ = taken_over["suspended"]
    rest = Rest(cluster.kubeconfig)
    rest.patch("trainjobs", JOB, {"spec": {"suspend": False}}, taken.name)
    wait_for("its Pod to run", lambda: [pod for pod in rest.list("pods", taken.name) if pod["status"].get("phase") == "Running"])
    assert taken.seen()["JobSet"][0] == before["JobSet"][0]
    assert conditions(taken.get("trainjobs"))["Suspended"]["status"] == "False"


def test_jobs_that_are_submitted_during_the_migration_run_after_it(taken_over, tenant, cluster):
    rest = Rest(cluster.kubeconfig, "load")
    refused = [at for _, at in tenant.refused]
    print(f"TrainJobs were refused for {refused[-1] - refused[0]:.1f} s; {len(tenant.submitted)} were accepted")
    assert all("failed calling webhook" in text for text, _ in tenant.refused)
    assert {at < refused[0] for _, at in tenant.submitted} == {True, False}, "some before and some after it"
    for name, _ in tenant.submitted:
        wait_for(f"{name} to complete", lambda name=name: "Complete" in true_conditions(rest.get("trainjobs", name)), timeout=60)


def test_the_check_before_the_migration_names_what_would_be_refused(taken_over, cluster):
    """By the command of docs/migration.md."""
    command, = re.findall(r"^kubectl get .* \| kubectl trainjob check .*$", (ROOT / "docs" / "migration.md").read_text(), re.MULTILINE)
    listed, _, check = command.partition(" | kubectl trainjob ")
    stored = cluster.kubectl(*listed.split()[1:])
    run = subprocess.run([pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob", *check.split()], input=stored,
                         capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    refused = {re.search(r": (\w+ \S+) is refused", line)[1]: line.partition("; ")[2] for line in lines if " is refused: " in line}
    assert run.returncode == 1, run.stderr
    assert refused.keys() == {"TrainJob runtime-gone/job", "TrainingRuntime template-ttl/plain"}
    assert "TrainingRuntime not found" in refused["TrainJob runtime-gone/job"]
    assert "activeDeadlineSeconds: Forbidden" in refused["TrainingRuntime template-ttl/plain"]
    assert re.fullmatch(r"\d+ objects: \d+ allowed, \d+ of them with warnings, 2 refused; \d+ errors?, \d+ warnings?", lines[-1])


@pytest.mark.parametrize("name", ["flux", "mpi-initialized"])
def test_a_job_that_is_built_otherwise_moves_after_its_initializer_and_keeps_it(taken_over, cluster, name):
    """Signalbox would build another command of Flux, and another mode of MPI's key: a new JobSet, in which the initializer runs again."""
    taken, before, _ = taken_over[name]
    rest = Rest(cluster.kubeconfig, name)
    initializer = uid(rest.get("jobs", f"{JOB}-dataset-initializer-0"))
    suspend(rest, JOB)
    until(rest, JOB, "Suspended")
    wait_for("its Pods to be deleted", lambda: not running_pods(rest, JOB) and not any(
        each["active"] for each in taken.get("trainjobs")["status"]["jobsStatus"]))
    place = {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-2"}}}}}}
    rest.patch("trainjobs", JOB, {"spec": {"suspend": False, "runtimePatches": [{"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {
        "template": {"spec": {"replicatedJobs": [place]}}}}]}})
    pods = wait_for("its Pods to run again", lambda: [
        pod for pod in running_pods(rest, JOB) if pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] == "node"])
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-2"}
    assert uid(rest.get("jobs", f"{JOB}-dataset-initializer-0")) == initializer and uid(taken.get("jobsets")) == before["JobSet"][0]
    after = taken.seen()["others"]
    assert {name: after[name] for name in before["others"]} == before["others"]
    (kept,) = wait_for("the event", lambda: events(rest, JOB, "JobSetKept"))
    assert ".command" in kept["note"] or "defaultMode" in kept["note"]
    assert conditions(taken.get("trainjobs"))["Created"]["status"] == "True"


def test_a_running_job_is_deleted_like_one_that_signalbox_created(taken_over, cluster):
    taken, _, _ = taken_over["runtime-gone"]
    rest = Rest(cluster.kubeconfig)
    rest.delete("trainjobs", JOB, taken.name)
    for kind in ("trainjobs", "jobsets", "pods"):
        wait_for(f"its {kind} to be deleted", lambda kind=kind: rest.list(kind, taken.name) == [], timeout=60)


def test_the_reconciler_waits_for_the_lease_of_an_original_in_another_namespace(taken_over, cluster):
    """By the option and the Role of docs/migration.md."""
    rest = Rest(cluster.kubeconfig)
    rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubeflow"}})
    role = re.search(r"(?ms)^```yaml\n(.*?)^```$", (ROOT / "docs" / "migration.md").read_text())[1]
    cluster.kubectl("apply", "--server-side", "-f", "-", input=role)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    rest.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "trainer.kubeflow.org", "namespace": "kubeflow"},
                 "spec": {"holderIdentity": "the original", "leaseDurationSeconds": 300, "acquireTime": now, "renewTime": now}})
    ours = Program(pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler", cluster.directory / "waits.log", [
        "--kubeconfig", cluster.service_account_kubeconfig(NAMESPACE, "signalbox-reconciler"), "--admin-listen", "127.0.0.1:0",
        "--lease=kubeflow/trainer.kubeflow.org"])
    try:
        wait_for("it to log the holder of the Lease", lambda: "the original" in ours.text())
        assert ours.metric("signalbox_leader") == 0
        rest.patch("leases", "trainer.kubeflow.org", {"spec": {"holderIdentity": ""}}, "kubeflow")
        wait_for("it to lead", lambda: ours.metric("signalbox_leader") == 1)
    finally:
        assert ours.stop() == []
