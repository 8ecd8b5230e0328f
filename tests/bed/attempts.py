"""Attempts of TrainJobs under a failure policy: lets Pods fail in the ways that Pods do, and waits for what follows. The test bed's nodes
run Pods until a test lets them fail."""

import contextlib

from progress import end_pods, events, fail_pod, pods, running_pods, uid, until
from rest import conditions, true_conditions, wait_for

ATTEMPT = "trainer.kubeflow.org/attempt"
EXCLUDED = "trainer.kubeflow.org/excluded-nodes"
AT_ONCE = {"initialSeconds": 0}
SOON = {"initialSeconds": 1}
LATER = {"initialSeconds": 300}  # than a test lasts


def policy(max_restarts=5, rules=(), backoff=None):
    """Returns what jobs.runtime() takes: the next attempt begins at once, or after the `backoff`."""
    return {"runPolicy": {"failurePolicy": {
        "maxRestarts": max_restarts, "backoff": backoff or AT_ONCE, **({"rules": list(rules)} if rules else {})}}}


def soon(rest, what, probe):
    """Calls wait_for(), and ends meanwhile the Pods that are being deleted, for which the end of a Job waits."""
    def look():
        end_pods(rest)
        return probe()
    return wait_for(what, look)


def started(rest, name, former=(), of=""):
    """Returns a Pod that runs and is none of the former; `of`: of this replicated job."""
    return soon(rest, f"a running Pod of {name}", lambda: next((pod for pod in running_pods(rest, name) if uid(pod) not in former and of in (
        "", pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"])), None))


def known(rest, name, former):
    return {*former, *map(uid, pods(rest, name))}


def fail(rest, name, code=1, former=(), of="", **how):
    """Lets a Pod of a TrainJob fail (progress.fail_pod). Returns the UIDs of all Pods so far."""
    pod = started(rest, name, former, of)
    present = known(rest, name, former)
    fail_pod(rest, pod, code, **how)
    return present


def reject(rest, pod):
    """Writes the status of a Pod that a kubelet has refused for a lost device: it has a reason, and nothing of containers. The test bed's
    nodes have begun to run it, which leaves no trace."""
    rest.patch("pods", pod["metadata"]["name"], {"status": {
        "phase": "Failed", "reason": "UnexpectedAdmissionError", "conditions": None, "containerStatuses": None,
        "message": "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices, which is unexpected"}},
        subresource="status")


def disrupt(rest, name, how, former=()):
    """Lets how(pod) disrupt a Pod of a TrainJob. Returns the UIDs of all Pods so far, and the reason of the condition with which it fails."""
    pod = started(rest, name, former)
    present = known(rest, name, former)
    how(pod)

    def look():
        found = rest.get("pods", pod["metadata"]["name"])
        return next(((found, each) for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"), None)
    disrupted, condition = wait_for("the condition of a disrupted Pod", look)
    fail_pod(rest, disrupted, 143)
    return present, condition["reason"]


def evict(rest):
    """Returns a disruption: an eviction by the API."""
    def how(pod):
        name = pod["metadata"]["name"]
        rest.request("POST", rest.path("pods", name) + "/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": rest.namespace}})
    return how


@contextlib.contextmanager
def taint(rest):
    """Yields a disruption: a taint of the Pod's node until the end of the context."""
    tainted = []

    def how(pod):
        tainted.append(pod["spec"]["nodeName"])
        rest.patch("nodes", tainted[-1], {"spec": {"taints": [{"key": "signalbox.test/broken", "effect": "NoExecute"}]}})
    try:
        yield how
    finally:
        for node in tainted:
            rest.patch("nodes", node, {"spec": {"taints": None}})


def counters(rest, name):
    status = rest.get("trainjobs", name)["status"]
    return status.get("restarts", 0), status.get("restartsCountTowardsMax", 0)


def until_counted(rest, name, want):
    soon(rest, f"{name} to have restarted {want} times", lambda: counters(rest, name) == want)


def until_noted(rest, name, want):
    """Waits for exactly these restarts in the job's events, which are written after its status."""
    wait_for("the events", lambda: {event["note"].partition(":")[0] for event in events(rest, name, "TrainJobRestarted")} == want)


def failed(rest, name, reason):
    """Returns the condition with which the job has ended."""
    soon(rest, f"{name} to fail", lambda: "Failed" in true_conditions(rest.get("trainjobs", name)))
    return true_conditions(until(rest, name, "Failed", reason))["Failed"]


def decisions(rest, name):
    """Returns [(attempt, decision, index of the rule)] of the job's failures, the newest one first."""
    return [(each["attempt"], each["decision"], each["rule"]) for each in rest.get("trainjobs", name)["status"]["failures"]]


def until_backing_off(rest, name):
    """Returns the TrainJob, once it waits for its next attempt."""
    soon(rest, f"{name} to wait", lambda: "Restarting" in true_conditions(rest.get("trainjobs", name)))
    return until(rest, name, "Restarting", "BackingOff")


def is_backing_off(job):
    return "Restarting" in conditions(job) or "nextAttemptTime" in job["status"]


def attempt(rest, name, number, other_than=None):
    """Returns the JobSet of that attempt, once there is one with another UID."""
    def look():
        found = rest.get("jobsets", name)
        return found if uid(found) not in (None, other_than) and found["metadata"]["annotations"].get(ATTEMPT) == str(number) else None
    return soon(rest, f"attempt {number} of {name}", look)


def avoided(pod):
    """Returns the nodes that each term of the Pod's required affinity excludes."""
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    excluded, *others = [{value for field in term.get("matchFields", []) for value in field["values"]
                          if (field["key"], field["operator"]) == ("metadata.name", "NotIn")} for term in terms]
    assert all(each == excluded for each in others), terms
    return excluded
