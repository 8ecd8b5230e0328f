"""The demo's stories: each submits a TrainJob as a data scientist would, and follows it until it ends."""

from jobs import train_job
from timeline import BOLD, DIM, GREEN, StoryFailed, Timeline, paint


def finish(timeline, text):
    timeline.note(f"✓ {text}", BOLD, GREEN)
    print()


def heading(number, text, job):
    print(paint(f"{number}. {text}", BOLD))
    nodes = job["spec"]["trainer"]["numNodes"]
    details = [f"runtime {job['spec']['runtimeRef']['name']}", f"{nodes} node{'s' if nodes != 1 else ''}"]
    if "activeDeadlineSeconds" in job["spec"]:
        details.append(f"activeDeadlineSeconds: {job['spec']['activeDeadlineSeconds']}")
    if job["spec"].get("suspend"):
        details.append("suspend: true")
    print(paint(f"   TrainJob {job['metadata']['name']}: {', '.join(details)}", DIM), flush=True)


def to_complete(rest, number):
    job = train_job("mnist", "torch-distributed", seconds=3, nodes=4)
    heading(number, "Four nodes of PyTorch, to the end", job)
    timeline = Timeline(rest, "mnist")
    rest.create(job)
    timeline.until("Complete", lambda t: t.is_true("Complete"))
    names = {pod["spec"]["nodeName"] for pod in timeline.pods}
    if len(timeline.pods) != 4:
        raise StoryFailed(f"mnist: {len(timeline.pods)} pods ran, 4 were asked for")
    finish(timeline, f"four pods ran on {len(names)} nodes and the TrainJob is Complete")


def past_its_deadline(rest, number):
    job = train_job("runaway", "torch-distributed", seconds="never", nodes=4, activeDeadlineSeconds=5)
    heading(number, "A job that would never end, with a deadline", job)
    timeline = Timeline(rest, "runaway")
    rest.create(job)
    timeline.until("Failed with DeadlineExceeded", lambda t: t.is_true("Failed", "DeadlineExceeded"))
    timeline.until("without pods", lambda t: not t.pods)
    finish(timeline, "ended by its deadline, and its pods are gone")


def suspended_and_resumed(rest, number):
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


def tidied_up(rest, number):
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


STORIES = (to_complete, past_its_deadline, suspended_and_resumed, tidied_up)
