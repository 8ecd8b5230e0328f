"""The phases of one controller's life with N TrainJobs on a control plane, and what each of them cost."""

import collections
import time
import typing

from testbed import JOBS, Bed  # first, since it makes the modules of tests/bed importable
from api_costs import Span, of_controller, without_background
from lean import finished
from rest import conditions, true_conditions, wait_for

CALM_SECONDS = 12  # the process frees memory a few seconds after the work
SERVERS = ("kube-apiserver", "etcd")
PROFILE = "profile: "  # begins the names of kinds of work in the CPU of a Span, each a part of the API server's


class Phase(typing.NamedTuple):
    """One span of time. seconds: until the last object was as it should be; busy: CPU seconds of API server and etcd until then; span:
    until the controller was quiet as well, with its own CPU time, memory in MiB, and reconciles, None if it does not count them."""
    seconds: float
    busy: float
    span: Span
    cpu: float
    resident: float
    peak: float
    reconciles: float | None

    def share_of_servers(self, cores):
        """Returns how many percent of the machine API server and etcd took."""
        return 100 * self.busy / self.seconds / cores


class Life(typing.NamedTuple):
    """All figures of one life. phases: {name: Phase}; alone: {name: Span} of the driver without a controller."""
    jobs: int
    idle: float
    phases: dict
    alone: dict
    background: Span
    seconds_to_ready: float | None

    def cost(self, name):
        """Returns ({server: CPU seconds}, {kind of work of the API server: CPU seconds}, Counter of requests) that the controller caused
        in that phase."""
        cpu, requests = of_controller(self.phases[name].span, self.background, self.alone.get(name))
        kinds = {name.removeprefix(PROFILE): used for name, used in cpu.items() if name.startswith(PROFILE)}
        return {server: cpu[server] for server in SERVERS}, kinds, requests

    def cost_of_driver(self, name):
        """Returns the CPU seconds of both servers that cost() leaves out for the driver's requests."""
        cpu = without_background(self.alone[name], self.background) if name in self.alone else {}
        return sum(cpu.get(server, 0) for server in SERVERS)

    def reconciles(self, name):
        """Returns the controller's reconciles per job; None if it does not count them."""
        count = self.phases[name].reconciles
        return None if count is None else count / self.jobs

    def milliseconds(self, *names):
        """Returns milliseconds of the controller's CPU time per job."""
        return 1000 * sum(self.phases[name].cpu for name in names) / self.jobs


def train_job(number, size):
    """Returns a TrainJob, with an argument of `size` bytes unless that is 0."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name_of(number), "namespace": JOBS, "labels": {"team": "vision"}},
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
        },
    }


def name_of(number):
    return f"job-{number:05}"


class Live:
    """Lives one life. start(bed, begun) starts the controller and returns it, and calls begun() as its process starts."""

    def __init__(self, bed, start, jobs, size, settled):
        self._bed, self._start, self._jobs, self._size, self._settled = bed, start, jobs, size, settled
        self._last = name_of(jobs - 1)
        self._phases = {}
        self._controller = None

    def run(self):
        bed, client = self._bed, self._bed.client
        self._controller = self._start(bed, lambda: None)
        self._controller.wait_until_quiet(CALM_SECONDS)
        idle = self._controller.memory()[0]
        bed.stop_controller()
        client.each(lambda number: client.create(train_job(number, self._size), "trainjobs"), range(self._jobs))

        self._start_and_measure("drain", lambda: wait_for("all JobSets", lambda: client.count("jobsets") >= self._jobs, 1200, 0.2))
        self._measure("suspend", lambda: self._suspend(True), lambda: self._wait_until_suspended(True))
        self._measure("resume", lambda: self._suspend(False), lambda: self._wait_until_suspended(False))
        self._measure("finish", self._finish, lambda: client.wait_for_all(
            "all to be Complete", "trainjobs", lambda job: "Complete" in true_conditions(job), self._last))
        self._controller.wait_until_quiet(CALM_SECONDS)
        self._measure("settled", lambda: time.sleep(self._settled), lambda: None)
        bed.stop_controller()
        self._start_and_measure("restart", lambda: self._controller.wait_until_quiet(CALM_SECONDS))
        ready = getattr(self._controller, "seconds_to_ready", None)
        bed.stop_controller()

        background = self._span(lambda: time.sleep(self._settled))
        alone = {"suspend": self._span(lambda: self._suspend(True)), "resume": self._span(lambda: self._suspend(False)),
                 # Another reason, since a write that changes nothing costs less.
                 "finish": self._span(lambda: self._finish("AllJobsCompletes"))}
        return Life(self._jobs, idle, self._phases, alone, background, ready)

    def _suspend(self, value):
        self._bed.client.each(lambda number: self._bed.client.patch("trainjobs", name_of(number), {"spec": {"suspend": value}}),
                              range(self._jobs))

    def _wait_until_suspended(self, value):
        want = str(value)
        self._bed.client.wait_for_all(
            f"Suspended={want}", "trainjobs", lambda job: conditions(job).get("Suspended", {}).get("status") == want, self._last)
        self._bed.client.wait_for_all(
            f"JobSets with suspend={want}", "jobsets", lambda job_set: job_set["spec"].get("suspend", False) == value, self._last)

    def _finish(self, reason="AllJobsCompleted"):
        change = finished(reason=reason)
        self._bed.client.each(lambda number: self._bed.client.patch("jobsets", name_of(number), change, "/status"), range(self._jobs))

    def _start_and_measure(self, name, wait):
        self._controller = self._start(self._bed, self._mark)
        self._note(name, 0, 0, wait)

    def _measure(self, name, work, wait):
        """Notes a phase: work() by the driver, wait() for the controller's last object, and then until it is quiet."""
        reconciles, used = self._controller.reconciles(), self._controller.cpu()
        self._mark()
        work()
        self._note(name, used, reconciles, wait)

    def _note(self, name, used, reconciles, wait):
        wait()
        seconds, busy = time.monotonic() - self._began, sum(self._bed.cpu_of_servers().values()) - sum(self._cpu.values())
        self._controller.wait_until_quiet()
        span, cpu, memory, count = self._since_mark(), self._controller.cpu() - used, self._controller.memory(), self._controller.reconciles()
        self._phases[name] = Phase(seconds, busy, span, cpu, *memory, None if None in (count, reconciles) else count - reconciles)

    def _span(self, work):
        self._mark()
        work()
        return self._since_mark()

    def _mark(self):
        self._began = time.monotonic()
        self._requests = self._bed.requests()  # it costs CPU, which is not counted
        self._sent, self._cpu = collections.Counter(self._bed.client.sent), self._bed.cpu_of_servers()
        self._profiler = self._bed.profiler()

    def _since_mark(self):
        kinds = self._profiler.stop()
        seconds = time.monotonic() - self._began
        cpu = collections.Counter({name: used - self._cpu[name] for name, used in self._bed.cpu_of_servers().items()})
        cpu.update({PROFILE + kind: used for kind, used in kinds.items()})
        return Span(seconds, cpu, self._bed.requests() - self._requests, self._bed.client.sent - self._sent)


def live(start, jobs, size, settled, profiling):
    """Returns the Life of a controller on a control plane of its own."""
    with Bed(profiling) as bed:
        return Live(bed, start, jobs, size, settled).run()
