"""The TrainJobs of a typical day in half a minute, for tests of metrics and logs."""

import pod_reports
from deployment import NAMESPACE
from jobs import runtime, train_job
from rest import ApiError, conditions, true_conditions, wait_for


def until(rest, name, kind):
    return wait_for(f"{name} to be {kind}", lambda: true_conditions(rest.get("trainjobs", name)).get(kind), 60)


def prepare(rest):
    """Creates the runtimes that shift() refers to."""
    rest.create(runtime("shift"))
    brief = runtime("shift-kept-briefly", ttlSecondsAfterFinished=2)
    brief["metadata"]["labels"] = {"trainer.kubeflow.org/support": "deprecated"}
    rest.create(brief)
    broken = runtime("shift-broken")
    broken["spec"]["template"]["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["no-such-job"]}
    rest.create(broken)


def report(rest, progress, pod, times):
    """Sends reports of the Pod to the server of progress, and one with a token of another TrainJob."""
    secret = rest.get("secrets", "signalbox-progress-cert", NAMESPACE)
    name, namespace = pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"], pod["metadata"]["namespace"]
    to = (progress.port_of("progress"), f"signalbox-progress.{NAMESPACE}.svc", pod_reports.ca_of(secret), namespace)
    token = pod_reports.token_of(rest, pod, pod_reports.audience_of(namespace, name))
    for percentage in range(times):
        assert pod_reports.report(*to, name, token, percentage)[0] == 200
    assert pod_reports.report(*to, "another", token)[0] == 403


def shift(rest, number=0, progress=None):
    """Runs one TrainJob for each outcome. Returns {outcome: its UID} when all have happened; one runs on, and one is still suspended. With
    a server of progress, the one that runs on reports."""
    made = {}

    def submit(fate, runtime_name="shift", **wishes):
        name = f"{fate}-{number}"
        made[fate] = rest.create(train_job(name, runtime_name, **wishes))["metadata"]["uid"]
        return name

    try:
        submit("refused", "shift-missing")
        raise AssertionError("a runtime that is not there was accepted")
    except ApiError as error:
        assert "shift-missing" in error.status["message"]
    running = submit("running", seconds="never")
    suspended = submit("suspended", suspend=True)
    blocked = submit("blocked", "shift-broken")
    complete = submit("complete", nodes=2)
    failed = submit("failed", outcome="failed")
    late = submit("late", "shift-kept-briefly", seconds="never", activeDeadlineSeconds=2)
    until(rest, complete, "Complete")
    until(rest, failed, "Failed")
    until(rest, suspended, "Suspended")
    wait_for("Created=False", lambda: conditions(rest.get("trainjobs", blocked)).get("Created", {}).get("status") == "False")
    pod, = wait_for("its pod", lambda: rest.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={running}"))
    if progress:
        report(rest, progress, pod, 5 * (1 + number % 3))
    wait_for("the TTL", lambda: rest.get("trainjobs", late) is None, 60)
    return made
