"""The demo's stories: each submits a TrainJob as a data scientist would, and follows it until it ends."""

import pathlib
import subprocess
import tempfile
import typing

from jobs import train_job
from progress_deployment import GUIDE, run
from rest import wait_for
from timeline import BOLD, DIM, GREEN, StoryFailed, Timeline, paint


class Scene(typing.NamedTuple):
    """What the stories play in."""
    control_plane: typing.Any
    rest: typing.Any
    progress: typing.Any  # the server of reports
    binaries: pathlib.Path


def finish(timeline, text):
    timeline.note(f"✓ {text}", BOLD, GREEN)
    print()


def heading(number, text, *jobs):
    print(paint(f"{number}. {text}", BOLD))
    for job in jobs:
        nodes = job["spec"]["trainer"]["numNodes"]
        details = [f"runtime {job['spec']['runtimeRef']['name']}", f"{nodes} node{'s' if nodes != 1 else ''}"]
        if "activeDeadlineSeconds" in job["spec"]:
            details.append(f"activeDeadlineSeconds: {job['spec']['activeDeadlineSeconds']}")
        if job["spec"].get("suspend"):
            details.append("suspend: true")
        print(paint(f"   TrainJob {job['metadata']['name']}: {', '.join(details)}", DIM), flush=True)


def to_complete(scene, number):
    rest = scene.rest
    job = train_job("mnist", "torch-distributed", seconds=3, nodes=4)
    heading(number, "Four nodes of PyTorch, to the end", job)
    timeline = Timeline(rest, "mnist")
    rest.create(job)
    timeline.until("Complete", lambda t: t.is_true("Complete"))
    names = {pod["spec"]["nodeName"] for pod in timeline.pods}
    if len(timeline.pods) != 4:
        raise StoryFailed(f"mnist: {len(timeline.pods)} pods ran, 4 were asked for")
    finish(timeline, f"four pods ran on {len(names)} nodes and the TrainJob is Complete")


def past_its_deadline(scene, number):
    rest = scene.rest
    job = train_job("runaway", "torch-distributed", seconds="never", nodes=4, activeDeadlineSeconds=5)
    heading(number, "A job that would never end, with a deadline", job)
    timeline = Timeline(rest, "runaway")
    rest.create(job)
    timeline.until("Failed with DeadlineExceeded", lambda t: t.is_true("Failed", "DeadlineExceeded"))
    timeline.until("without pods", lambda t: not t.pods)
    finish(timeline, "ended by its deadline, and its pods are gone")


def suspended_and_resumed(scene, number):
    rest = scene.rest
    job = train_job("patient", "torch-distributed", seconds=2, nodes=2, suspend=True)
    heading(number, "Submitted suspended, resumed later", job)
    timeline = Timeline(rest, "patient")
    rest.create(job)
    timeline.until("Suspended, with its JobSet", lambda t: t.is_true("Suspended") and t.job_set)
    timeline.while_looking(2, "without pods while suspended", lambda t: not t.pods)
    timeline.note("kubectl patch trainjob patient --type=merge -p '{\"spec\":{\"suspend\":false}}'", DIM)
    rest.patch("trainjobs", "patient", {"spec": {"suspend": False}})
    timeline.until("Complete", lambda t: t.is_true("Complete"))
    finish(timeline, "held back without a pod, then resumed to Complete")


def tidied_up(scene, number):
    rest = scene.rest
    runtime = rest.get("clustertrainingruntimes", "torch-distributed")
    short_lived = {
        "apiVersion": runtime["apiVersion"],
        "kind": runtime["kind"],
        "metadata": {"name": "torch-tidy", "labels": runtime["metadata"].get("labels", {})},
        "spec": {**runtime["spec"], "ttlSecondsAfterFinished": 3},
    }
    rest.create(short_lived)
    job = train_job("fleeting", "torch-tidy", seconds=1, nodes=1)
    heading(number, "A runtime that tidies up: ttlSecondsAfterFinished: 3", job)
    timeline = Timeline(rest, "fleeting")
    rest.create(job)
    timeline.until("Complete", lambda t: t.is_true("Complete"))
    timeline.until("gone", lambda t: t.job is None)
    timeline.until("without pods", lambda t: not t.pods)
    finish(timeline, "removed when its time to live was over, with everything it owned")


def train(scene, pod, script):
    """Runs training code in place of the container of a TrainJob's Pod: the nodes only pretend to run containers."""
    with tempfile.TemporaryDirectory(dir=scene.control_plane.directory) as folder:
        printed = run(script, scene.rest, pod, scene.progress, folder)
    if printed:
        raise StoryFailed(f"{pod['metadata']['name']}: {printed}")


def running_pods(pods):
    return [pod for pod in pods if pod["status"].get("phase") == "Running"]


def explained(scene, name):
    """Returns the lines about progress of `kubectl trainjob explain`."""
    text = subprocess.run([scene.binaries / "kubectl-trainjob", "explain", f"default/{name}", "--kubeconfig", scene.control_plane.kubeconfig],
                          check=True, capture_output=True, text=True).stdout
    return text[text.index("Progress  "):text.index("Deadline  ")].splitlines()


def hang(scene):
    """Submits a job that fails after a minute without progress, and reports for its first step only."""
    job = train_job("stuck", "torch-distributed", seconds="never", nodes=1)
    job["metadata"]["annotations"] = {"trainer.kubeflow.org/progress-deadline-seconds": "60",
                                      "trainer.kubeflow.org/progress-deadline-action": "Fail"}
    scene.rest.create(job)
    pods = wait_for("a running pod", lambda: running_pods(scene.rest.list("pods", "default", "jobset.sigs.k8s.io/jobset-name=stuck")))
    train(scene, pods[0], GUIDE[:GUIDE.index("steps, reported")] + "report(25, loss=1.0, step=1)")


def progress_and_a_hang(scene, number):
    job = train_job("diligent", "torch-distributed", seconds="never", nodes=1)
    stuck = scene.rest.get("trainjobs", "stuck", "default")
    heading(number, "Progress, and a job that hangs", job, stuck)
    diligent = Timeline(scene.rest, "diligent")
    scene.rest.create(job)
    diligent.until("with a running pod", lambda t: running_pods(t.pods))
    diligent.note("docs/progress.md has the script that now trains in its pod", DIM)
    train(scene, diligent.pods[0], GUIDE)
    diligent.until("at 100 %", lambda t: t.percentage() == 100)
    hung = Timeline(scene.rest, "stuck")
    hung.until("at 25 %", lambda t: t.percentage() == 25)
    hung.note("kubectl trainjob explain stuck", DIM)
    for line in explained(scene, "stuck"):
        hung.note(f"  {line}")
    # A minute without progress, and a minute in which a report may still wait for its write.
    hung.until("Failed with ProgressDeadlineExceeded", lambda t: t.is_true("Failed", "ProgressDeadlineExceeded"), timeout=180)
    hung.until("without pods", lambda t: not t.pods)
    finish(hung, "one job reported to its end; the other stopped, was ended for it, and its pod is gone")


STORIES = (to_complete, past_its_deadline, suspended_and_resumed, tidied_up, progress_and_a_hang)
