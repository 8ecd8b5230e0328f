"""Waits for states of a TrainJob, and reads the objects around it."""

import contextlib
import datetime

from rest import ApiError, conditions, true_conditions, wait_for


def until(rest, name, kind, reason=None, timeout=30):
    """Returns the TrainJob, once its condition `kind` is True (with that reason)."""
    job = None

    def look():
        nonlocal job
        job = rest.get("trainjobs", name)
        found = true_conditions(job).get(kind)
        return found and reason in (None, found["reason"])
    try:
        wait_for(f"{name} to be {kind} {reason or ''}", look, timeout)
    except AssertionError as missed:
        raise AssertionError(f"{missed}; its conditions: {(job or {}).get('status', {}).get('conditions')}") from None
    return job


def has_begun(job):
    """Returns whether the TrainJob has a JobSet, or had one: the condition Created goes with its end."""
    return "runtimeDigest" in (job or {}).get("status", {})


def until_not_created(rest, name, reason):
    """Returns the condition Created, once it is False for that reason."""
    def look():
        created = conditions(rest.get("trainjobs", name)).get("Created", {})
        return created if (created.get("status"), created.get("reason")) == ("False", reason) else None
    return wait_for(f"{name} to be refused: {reason}", look)


def until_runs(rest, name):
    wait_for(f"a running pod of {name}", lambda: running_pods(rest, name))


def until_held(rest, name):
    """Returns the suspended JobSet, once JobSet's controller has set its status and the TrainJob reports it."""
    until(rest, name, "Suspended")
    wait_for(f"{name} to be settled", lambda: all(
        rest.get("trainjobs", name)["status"].get("jobsStatus", [{}])[0].get(count) == want
        for count, want in (("active", 0), ("suspended", 1))))
    return rest.get("jobsets", name)


def until_gone(rest, name, timeout=30):
    wait_for(f"{name} to be deleted", lambda: rest.get("trainjobs", name) is None, timeout, 0.05)


def delete_jobs(rest):
    """Deletes all TrainJobs of the namespace, and ends their Pods (end_pods())."""
    # One by one: the garbage collector may not know new kinds yet.
    for kind in ("trainjobs", "jobsets", "jobs"):
        for each in rest.list(kind):
            rest.delete(kind, each["metadata"]["name"])

    def gone():
        end_pods(rest)
        return not rest.list("pods")
    wait_for("the Pods to go", gone)


def end_pods(rest):
    """Ends all Pods of the namespace that are being deleted, as kubelets do: their phase is Failed before they go. The test bed's nodes
    leave it, and with a podFailurePolicy the Job controller keeps a Pod until its phase is final."""
    for pod in rest.list("pods"):
        if "deletionTimestamp" in pod["metadata"] and pod["status"].get("phase") not in ("Failed", "Succeeded"):
            with contextlib.suppress(ApiError):  # it has just gone
                fail_pod(rest, pod, 143)


def fail_pod(rest, pod, code, reason="Error", conditions=()):
    """Writes the status of a Pod whose containers have just ended with that exit code, as a kubelet does."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    ended = {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}}
    rest.patch("pods", pod["metadata"]["name"], {"status": {
        "phase": "Failed",
        "containerStatuses": [{**status, "ready": False, "started": False, "state": ended}
                              for status in pod["status"].get("containerStatuses", [])],
        "conditions": [*pod["status"].get("conditions", []), *conditions]}}, subresource="status")


def until_alone(admin):
    """Waits until the namespaces of earlier tests are gone, because the reconciler might still write to them."""
    wait_for("the namespaces of other tests to go", timeout=60, probe=lambda: not [
        each for each in admin.list("namespaces") if each["status"]["phase"] == "Terminating"])


def suspend(rest, name, yes=True):
    rest.patch("trainjobs", name, {"spec": {"suspend": yes}})


def resume(rest, name):
    suspend(rest, name, False)


def pods(rest, name):
    return rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


def running_pods(rest, name):
    return [pod for pod in pods(rest, name)
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]


def events(rest, name, reason):
    return [event for event in rest.list("events") if event["reason"] == reason and event["regarding"]["name"] == name]


def uid(obj):
    return (obj or {}).get("metadata", {}).get("uid")


def owner(obj):
    return (obj or {}).get("metadata", {}).get("ownerReferences", [{}])[0].get("uid")


def created_at(obj):
    """Returns seconds since 1970; times of the API are whole seconds."""
    return seconds(obj["metadata"]["creationTimestamp"])


def since(obj, kind):
    """Returns the time of the last transition of condition `kind`."""
    return seconds(conditions(obj)[kind]["lastTransitionTime"])


def seconds(text):
    """Returns a time of the API as seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
