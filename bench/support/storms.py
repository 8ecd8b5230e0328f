"""The storms of bench/storms: what the driver does, and when the controller has coped with it."""

import time

from driver import status_of, train_job  # first, since it makes the modules of tests/bed importable
from lean import finished
from rest import true_conditions
from watching import Watch

NAMESPACE = "storms"
_PODS_PER_WRITE = 20
_PATIENCE = 600  # seconds
_JUST_CREATED = 50  # jobs, before the API server goes and after it is back


def says(job, status):
    """Returns whether a TrainJob has the counts of that status of its JobSet."""
    counts = {each["name"]: each for each in job.get("status", {}).get("jobsStatus", [])}
    return all(want["name"] in counts and counts[want["name"]].get(count, 0) == number
               for want in status["status"]["replicatedJobsStatus"] for count, number in want.items() if count != "name")


def has_failed(job):
    return "Failed" in true_conditions(job)


class Storm:
    """prepare() once; then rage(), and wait_until_right(), which returns the seconds that it took. At the end rage() once more, without a
    controller."""

    def __init__(self, bed, meter, arguments):
        self._bed, self._client, self._meter, self._arguments = bed, bed.client, meter, arguments
        self._times = 0  # that it has raged

    def wait_until_right(self, meanwhile):
        with self._watch:
            seen = self._watch.wait_for(self._names, _PATIENCE, meanwhile)
        return max(at for at, _ in seen.values()) - self._began

    def _begin(self, resource, look, existing=False):
        self._times += 1
        self._watch = Watch(self._client, resource, NAMESPACE, look, existing).open()
        self._began = time.monotonic()

    def _create(self, names):
        job = train_job(0, namespace=NAMESPACE)
        self._client.each(lambda name: self._client.create({**job, "metadata": {**job["metadata"], "name": name}}, "trainjobs"), names)

    def _create_running(self, names, status):
        with Watch(self._client, "jobsets", NAMESPACE, lambda job_set: True) as created:
            self._create(names)
            created.wait_for(names, _PATIENCE)
        with Watch(self._client, "trainjobs", NAMESPACE, lambda job: says(job, status)) as shown:
            self._write(names, status)
            shown.wait_for(names, _PATIENCE)

    def _write(self, names, status):
        self._client.each(lambda name: self._client.patch("jobsets", name, status, "/status", NAMESPACE), names)

    def _fail(self, names):
        # Another reason each time, since a write that changes nothing costs less.
        self._write(names, finished("Failed", f"FailedJobs{self._times}"))


class Pods(Storm):
    name = "pods"

    def prepare(self):
        self._names, self._pods = ["pods"], self._arguments.pods
        self._create_running(self._names, status_of(self._pods, ready=self._pods))

    def rage(self):
        self._begin("trainjobs", has_failed)
        for failed in range(_PODS_PER_WRITE, self._pods, _PODS_PER_WRITE):
            self._write(self._names, status_of(self._pods, self._pods - failed, failed, self._times))
        self._fail(self._names)


class Nodes(Storm):
    name = "nodes"

    def prepare(self):
        self._names = [f"node-{number:04}" for number in range(self._arguments.nodes)]
        self._create_running(self._names, status_of())

    def rage(self):
        ends, starts = self._names[::2], self._names[1::2]
        started = status_of(ready=1, restarts=self._times + 1)
        self._begin("trainjobs", lambda job: has_failed(job) if job["metadata"]["name"] in ends else says(job, started))
        self._write(self._names, status_of(failed=1, restarts=self._times - 1))
        self._write(starts, status_of(restarts=self._times))
        self._write(starts, started)
        self._fail(ends)


class Restart(Storm):
    name = "restart"

    def prepare(self):
        pass

    def rage(self):
        self._names = [f"restart-{self._times}-{number:03}" for number in range(2 * _JUST_CREATED)]
        self._create(self._names[:_JUST_CREATED])
        self._bed.plane.stop_api_server()
        self._bed.plane.start_api_server()
        self._meter.forget_api_server()
        ready = time.monotonic()
        self._begin("jobsets", lambda job_set: job_set["metadata"]["name"] in self._names, existing=True)
        self._began = ready  # the API server may not serve watches yet
        self._create(self._names[_JUST_CREATED:])


STORMS = (Pods, Nodes, Restart)
