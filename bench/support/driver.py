"""The driver of the benchmarks: it plays users, and JobSet's controller, which is not there."""

import concurrent.futures

from testbed import JOBS, Refused  # first, since it makes the modules of tests/bed importable
from lean import finished
from rest import conditions, true_conditions, wait_for
from watching import Watch


def train_job(number, size=0, namespace=JOBS, **spec):
    """Returns a TrainJob, with an argument of `size` bytes unless that is 0. spec: further fields of it."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name_of(number), "namespace": namespace, "labels": {"team": "vision"}},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "image": "registry.example.com/team/train:1.0",
                "command": ["torchrun", "train.py"],
                "args": ["--epochs", "10", "--lr", "0.001", *(["x" * size] if size else [])],
                "numNodes": 2,
                "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}},
                "env": [{"name": "RUN", "value": str(number)}],
            },
            **spec,
        },
    }


def status_of(jobs=1, ready=0, failed=0, suspended=0, restarts=0):
    """Returns the status of a JobSet with one ReplicatedJob of so many Jobs. Those that neither failed nor are suspended are active."""
    return {"status": {"restarts": restarts, "replicatedJobsStatus": [
        {"name": "node", "ready": ready, "active": jobs - failed - suspended, "failed": failed, "succeeded": 0, "suspended": suspended}]}}


# As JobSet's controller writes it while the Pods run. 30 s after a JobSet without such counts has come the reconciler lists the events of
# the namespace to say why there are no Jobs, and stores the condition Stalled.
RUNNING = status_of(ready=1)
# Jobs exist, and no Pod is active: a suspension is complete at once.
WITHOUT_PODS = status_of(suspended=1)


def name_of(number):
    return f"job-{number:05}"


class Starts:
    """A context manager. Meanwhile each JobSet of a namespace runs as soon as it exists."""

    def __init__(self, client, namespace):
        self._client, self._namespace = client, namespace
        self._watch = Watch(client, "jobsets", namespace, lambda job_set: not job_set.get("status", {}).get("replicatedJobsStatus"))
        self._thread = concurrent.futures.ThreadPoolExecutor(1)

    def __enter__(self):
        self._watch.open()
        self._done = self._thread.submit(self._run)
        return self

    def __exit__(self, *exception):
        self._watch.__exit__(*exception)
        self._thread.shutdown()
        self._done.result()

    def _run(self):
        for name in self._watch.arriving():
            try:
                self._client.patch("jobsets", name, RUNNING, "/status", self._namespace)
            except Refused as refused:
                if refused.status != 404:  # a controller may delete it at its deadline
                    raise


class Driver:
    """Works on the TrainJobs job-00000, job-00001 ... of the namespace JOBS, all of them at a time."""

    def __init__(self, client, jobs, size=0):
        self._client, self._jobs, self._size = client, jobs, size
        self._last = name_of(jobs - 1)

    def create(self):
        self._client.each(lambda number: self._client.create(train_job(number, self._size), "trainjobs"), range(self._jobs))

    def wait_for_job_sets(self):
        wait_for("all JobSets", lambda: self._client.count("jobsets") >= self._jobs, 1200, 0.2)

    def suspend(self, value):
        self._client.each(lambda number: self._client.patch("trainjobs", name_of(number), {"spec": {"suspend": value}}), range(self._jobs))

    def wait_until_suspended(self, value):
        want = str(value)
        self._client.wait_for_all(
            f"Suspended={want}", "trainjobs", lambda job: conditions(job).get("Suspended", {}).get("status") == want, self._last)
        self._client.wait_for_all(
            f"JobSets with suspend={want}", "jobsets", lambda job_set: job_set["spec"].get("suspend", False) == value, self._last)

    def write(self, status):
        """Writes a status to every JobSet."""
        self._client.each(lambda number: self._client.patch("jobsets", name_of(number), status, "/status"), range(self._jobs))

    def finish(self, reason="AllJobsCompleted"):
        """Completes every JobSet."""
        self.write(finished(reason=reason))

    def wait_until_complete(self):
        self._client.wait_for_all("all to be Complete", "trainjobs", lambda job: "Complete" in true_conditions(job), self._last)
