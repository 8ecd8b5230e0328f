"""kubectl's output for a TrainJob in each state: `get` in one line, `describe` with the reason and the events, each of them
once."""

from jobs import runtime, train_job
from rest import conditions, true_conditions, wait_for

HOLD = "signalbox.test/hold"
# name: state and reason of `kubectl get`, a text of `describe`, and the events (type, reason) in their order
WANT = {
    "unbuilt": ("Created", "JobsBuildFailed", 'ClusterTrainingRuntime "gone" does not exist; create it, and this TrainJob goes on',
                [("Warning", "JobsBuildFailed")]),
    "refused": ("Created", "JobsCreationFailed", "exceeded quota: few",
                [("Warning", "JobsCreationFailed")]),
    "suspended": ("Suspended", "Suspended", "TrainJob is suspended", [("Normal", "Suspended"), ("Normal", "JobsCreationSucceeded")]),
    "running": ("Created", "JobsCreationSucceeded", "Ready:      1", [("Normal", "JobsCreationSucceeded")]),
    "resumed": ("Created", "JobsCreationSucceeded", "TrainJob is resumed",
                [("Normal", "Suspended"), ("Normal", "JobsCreationSucceeded"), ("Normal", "Resumed")]),
    "succeeded": ("Complete", "AllJobsCompleted", "jobset completed successfully",
                  [("Normal", "JobsCreationSucceeded"), ("Normal", "AllJobsCompleted")]),
    "failed": ("Failed", "FailedJobs", "first failed job: failed-node-0",
               [("Normal", "JobsCreationSucceeded"), ("Warning", "FailedJobs")]),
    "late": ("Failed", "DeadlineExceeded", "active deadline of 5s: spec.activeDeadlineSeconds",
             [("Normal", "JobsCreationSucceeded"), ("Warning", "DeadlineExceeded"), ("Normal", "JobSetDeleted")]),
    "leaving": ("Created", "JobsCreationSucceeded", "Deletion Timestamp", [("Normal", "JobsCreationSucceeded")]),
}


def reason_of(rest, name):
    last = rest.get("trainjobs", name).get("status", {}).get("conditions", [{}])[-1]
    return last.get("type"), last.get("reason")


def events_of(text):
    """Returns (type, reason) of each line below Events."""
    lines = text[text.index("Events:"):].splitlines()[3:]
    return [(fields[0], fields[1]) for fields in map(str.split, lines) if fields]


def forbid_job_sets(rest):
    """Sets a quota that forbids more JobSets, and waits until it has counted those that exist."""
    counted = "count/jobsets.jobset.x-k8s.io"
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
                 "spec": {"hard": {counted: "0"}}})
    wait_for("the quota to count", lambda: rest.get("resourcequotas", "few").get("status", {}).get("used", {}).get(counted)
             == str(len(rest.list("jobsets"))))


def test_kubectl_alone_shows_each_state(signalbox, kubectl, rest):
    rest.create(runtime())
    rest.create(runtime("gone"))
    with signalbox.without_reconciler():
        rest.create(train_job("unbuilt", "gone"))
        rest.delete("clustertrainingruntimes", "gone")
    rest.create(train_job("suspended", suspend=True))
    rest.create(train_job("running", seconds="never", activeDeadlineSeconds=3600))
    rest.create(train_job("resumed", seconds="never", suspend=True))
    rest.create(train_job("succeeded"))
    rest.create(train_job("failed", outcome="failed"))
    rest.create(train_job("late", seconds="never", activeDeadlineSeconds=5))
    rest.create(train_job("leaving", seconds="never"))
    wait_for("Suspended", lambda: {"Created", "Suspended"} == set(true_conditions(rest.get("trainjobs", "resumed"))))
    rest.patch("trainjobs", "resumed", {"spec": {"suspend": False}})
    wait_for("JobSets of all", lambda: len(rest.list("jobsets")) >= len(WANT) - 3 and "Created" in conditions(
        rest.get("trainjobs", "leaving")))
    rest.patch("trainjobs", "leaving", {"metadata": {"finalizers": [HOLD]}})
    rest.delete("trainjobs", "leaving")
    # A denial includes the used quota, so a change of that would make another event.
    wait_for("the JobSet of the late one to be deleted", lambda: conditions(rest.get("trainjobs", "late")).get("Failed") and
             rest.get("jobsets", "late") is None)
    forbid_job_sets(rest)
    rest.create(train_job("refused"))
    for name, (state, reason, _, _) in WANT.items():
        wait_for(f"{name} to be {state}/{reason}", lambda n=name, w=(state, reason): reason_of(rest, n) == w)
    wait_for("a running pod", lambda: rest.get("trainjobs", "running")["status"]["jobsStatus"][0]["ready"] == 1)

    lines = kubectl("get", "trainjobs").splitlines()
    assert lines[0].split() == ["NAME", "STATE", "REASON", "STARTED", "FINISHED", "PROGRESS", "AGE"]
    table = {fields[0]: tuple(fields[1:3]) for fields in map(str.split, lines[1:])}
    assert table == {name: want[:2] for name, want in WANT.items()}

    for name, (_, _, text, events) in WANT.items():
        def shown(n=name, w=events):
            return events_of(kubectl("describe", "trainjob", n)) == w
        wait_for(f"the events of {name}", shown)
        described = kubectl("describe", "trainjob", name)
        assert text in described
    rest.patch("trainjobs", "leaving", {"metadata": {"finalizers": None}})
