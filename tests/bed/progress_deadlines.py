"""Progress deadlines in tests that last seconds: times in the past, and the Lease of the server of reports."""

import datetime

from rest import ApiError, conditions

SECONDS = "trainer.kubeflow.org/progress-deadline-seconds"
ACTION = "trainer.kubeflow.org/progress-deadline-action"
START = "trainer.kubeflow.org/start-deadline-seconds"
LEASE = "signalbox-progress"


def ago(seconds):
    time = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def lease(rest, namespace, since=7200, renewed=0):
    """Writes the Lease: reports have been accepted since that many seconds, and this was known that many seconds ago."""
    spec = {"acquireTime": ago(since)[:-1] + ".000000Z", "renewTime": ago(renewed)[:-1] + ".000000Z"}
    try:
        rest.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE, "namespace": namespace},
                     "spec": spec})
    except ApiError as error:
        if error.code != 409:
            raise
        rest.patch("leases", LEASE, {"spec": spec}, namespace)


def report(rest, name, since=0, **values):
    """Stores a report, whose progress was made that many seconds ago."""
    rest.patch("trainjobs", name, {"status": {"trainerStatus": {
        "lastUpdatedTime": ago(0), "lastProgressTime": ago(since), "progressPercentage": 42, **values}}}, subresource="status")


def stand_still(rest, name, since=3600):
    """Makes a TrainJob one that was resumed two hours ago and made its last progress `since` seconds ago."""
    while True:
        job = rest.get("trainjobs", name)
        others = [each for kind, each in conditions(job).items() if kind != "Suspended"]
        resumed = {"type": "Suspended", "status": "False", "reason": "Resumed", "message": "TrainJob is resumed",
                   "lastTransitionTime": ago(7200), "observedGeneration": job["metadata"]["generation"]}
        try:
            rest.patch("trainjobs", name, {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]},
                                           "status": {"conditions": [resumed, *others]}}, subresource="status")
        except ApiError as error:
            if error.code == 409:
                continue
            raise
        return report(rest, name, since)
