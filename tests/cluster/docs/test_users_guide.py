"""The commands of the users' guide about TrainJobs, word for word with kubectl."""

import json

import pytest
from progress import events
from rest import conditions, wait_for

TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: my-trainjob
spec:
  activeDeadlineSeconds: {deadline}
  {more}
  runtimeRef:
    name: torch-distributed
    kind: ClusterTrainingRuntime
    apiGroup: trainer.kubeflow.org
  trainer:
    image: docker.io/my-training-image:latest
    command:
      - torchrun
      - train.py
"""

JSONPATH = "jsonpath={.status.conditions[?(@.status==\"True\")]}"


def manifest(deadline=3600, more=""):
    return TRAIN_JOB.format(deadline=deadline, more=more)


def keep_pods_running(rest):
    """Keeps pods running, because the guide's job does not end within its deadline; the test bed's pods end after a second by default."""
    runtime = rest.get("clustertrainingruntimes", "torch-distributed")
    job = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]
    pod = job["template"]["spec"]["template"]
    pod.setdefault("metadata", {}).setdefault("labels", {})["signalbox.test/run-seconds"] = "never"
    rest.replace("clustertrainingruntimes", runtime)


def test_a_train_job_with_a_deadline_is_created_and_runs(signalbox, kubectl, rest):
    kubectl("apply", "-f", "-", input=manifest())
    wait_for("its pod to run", lambda: [p for p in pods(rest) if p["status"]["phase"] in ("Running", "Succeeded")])
    assert rest.get("trainjobs", "my-trainjob")["spec"]["activeDeadlineSeconds"] == 3600


@pytest.mark.parametrize("created", ["always", "on-failure"])
def test_after_the_deadline_the_guides_query_prints_one_condition(signalbox, kubectl, rest, created):
    keep_pods_running(rest)
    with signalbox.reconfigured(f"--created-condition={created}"):
        kubectl("apply", "-f", "-", input=manifest(deadline=8))
        wait_for("its pod", lambda: pods(rest))
        wait_for("the deadline", lambda: "Failed" in true_types(rest))
        wait_for("its JobSet and pods to go", lambda: not rest.list("jobsets") and not pods(rest))

    printed = json.loads(kubectl("get", "trainjob", "my-trainjob", "-o", JSONPATH))
    job = rest.get("trainjobs", "my-trainjob")
    assert printed == {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "TrainJob exceeded its active deadline",
                       "lastTransitionTime": job["status"]["completionTime"], "observedGeneration": 1}
    wait_for("the event", lambda: events(rest, "my-trainjob", "DeadlineExceeded"))
    assert [event["note"] for event in events(rest, "my-trainjob", "DeadlineExceeded")] == ["TrainJob exceeded its active deadline of 8s: spec.activeDeadlineSeconds"]


def test_a_suspended_train_job_has_no_pods_and_the_guides_patch_resumes_it(signalbox, kubectl, rest):
    kubectl("apply", "-f", "-", input=manifest(more="suspend: true"))
    wait_for("Suspended", lambda: "Suspended" in true_types(rest))
    wait_for("its JobSet", lambda: rest.get("jobsets", "my-trainjob"))
    assert pods(rest) == []

    kubectl("patch", "trainjob", "my-trainjob", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    wait_for("Complete", lambda: "Complete" in true_types(rest))
    suspended = conditions(rest.get("trainjobs", "my-trainjob"))["Suspended"]
    assert (suspended["status"], suspended["reason"]) == ("False", "Resumed")


def test_kubectl_get_shows_state_reason_and_times(signalbox, kubectl, rest):
    kubectl("apply", "-f", "-", input=manifest())
    wait_for("Complete", lambda: "Complete" in true_types(rest))
    header, row = kubectl("get", "trainjob", "my-trainjob").splitlines()
    assert header.split() == ["NAME", "STATE", "REASON", "STARTED", "FINISHED", "PROGRESS", "AGE"]
    assert row.split()[:3] == ["my-trainjob", "Complete", "AllJobsCompleted"]


def true_types(rest):
    return {t for t, c in conditions(rest.get("trainjobs", "my-trainjob")).items() if c["status"] == "True"}


def pods(rest):
    return rest.list("pods", selector="jobset.sigs.k8s.io/jobset-name=my-trainjob")


def parse_all(text):
    """Reads JSONPath's output: one object after the other, without a comma."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        while text[at].isspace():
            at += 1
        obj, at = decoder.raw_decode(text, at)
        found.append(obj)
    return found
