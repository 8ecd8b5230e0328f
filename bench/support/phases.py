"""The phases of one controller's life with N TrainJobs on a control plane, and what each of them cost."""

import time
import typing

from testbed import Bed  # first, since it makes the modules of tests/bed importable
from api_costs import Span, of_controller, without_background
from driver import WITHOUT_PODS, Driver
from meter import PROFILE, Meter

CALM_SECONDS = 12  # the process frees memory a few seconds after the work
STARTED_SECONDS = 5
SERVERS = ("kube-apiserver", "etcd")


class Phase(typing.NamedTuple):
    """One span of time. seconds: until the last object was as it should be; busy: CPU seconds of API server and etcd until then; span:
    until the controller was quiet as well, with its own CPU time, memory in MiB, and reconciles, None if it does not count them."""
    seconds: float
    busy: float
    span: Span
    cpu: float
    anonymous: float
    resident: float
    peak: float
    reconciles: float | None

    def share_of_servers(self, cores):
        """Returns how many percent of the machine API server and etcd took."""
        return 100 * self.busy / self.seconds / cores


class Life(typing.NamedTuple):
    """All figures of one life. started: (anonymous, resident, peak) memory in MiB without a TrainJob, STARTED_SECONDS after the start; idle:
    the same later on. phases: {name: Phase}; alone: {name: Span} of the driver without a controller."""
    jobs: int
    started: tuple
    idle: tuple
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


class Live:
    """Lives one life. start(bed, begun) starts the controller and returns it, and calls begun() as its process starts."""

    def __init__(self, bed, start, jobs, size, settled):
        self._bed, self._start, self._jobs, self._settled = bed, start, jobs, settled
        self._driver, self._meter = Driver(bed.client, jobs, size), Meter(bed)
        self._phases = {}
        self._controller = None

    def run(self):
        bed, driver = self._bed, self._driver
        self._controller = self._start(bed, lambda: None)
        started = self._controller.memory_at(STARTED_SECONDS)
        self._controller.wait_until_quiet(CALM_SECONDS)
        idle = self._controller.memory()
        bed.stop_controller()
        driver.create()

        self._start_and_measure("drain", driver.wait_for_job_sets)
        driver.write(WITHOUT_PODS)
        self._controller.wait_until_quiet()
        self._measure("suspend", lambda: driver.suspend(True), lambda: driver.wait_until_suspended(True))
        self._measure("resume", lambda: driver.suspend(False), lambda: driver.wait_until_suspended(False))
        self._measure("finish", driver.finish, driver.wait_until_complete)
        self._controller.wait_until_quiet(CALM_SECONDS)
        self._measure("settled", lambda: time.sleep(self._settled), lambda: None)
        bed.stop_controller()
        self._start_and_measure("restart", self._wait_until_restarted)
        ready = getattr(self._controller, "seconds_to_ready", None)
        bed.stop_controller()

        background = self._span(lambda: time.sleep(self._settled))
        alone = {"suspend": self._span(lambda: driver.suspend(True)), "resume": self._span(lambda: driver.suspend(False)),
                 # Another reason, since a write that changes nothing costs less.
                 "finish": self._span(lambda: driver.finish("AllJobsCompletes"))}
        return Life(self._jobs, started, idle, self._phases, alone, background, ready)

    def _wait_until_restarted(self):
        self._controller.wait_until_quiet(CALM_SECONDS)
        self._controller.probe()  # as the idle one was, whose memory is subtracted

    def _start_and_measure(self, name, wait):
        self._controller = self._start(self._bed, self._meter.start)
        self._note(name, 0, 0, wait)

    def _measure(self, name, work, wait):
        """Notes a phase: work() by the driver, wait() for the controller's last object, and then until it is quiet."""
        reconciles, used = self._controller.reconciles(), self._controller.cpu()
        self._meter.start()
        work()
        self._note(name, used, reconciles, wait)

    def _note(self, name, used, reconciles, wait):
        wait()
        seconds, busy = time.monotonic() - self._meter.began, self._meter.busy()
        self._controller.wait_until_quiet()
        span, cpu, memory, count = self._meter.stop(), self._controller.cpu() - used, self._controller.memory(), self._controller.reconciles()
        self._phases[name] = Phase(seconds, busy, span, cpu, *memory, None if None in (count, reconciles) else count - reconciles)

    def _span(self, work):
        self._meter.start()
        work()
        return self._meter.stop()


def live(start, jobs, size, settled, profiling):
    """Returns the Life of a controller on a control plane of its own."""
    with Bed(profiling) as bed:
        return Live(bed, start, jobs, size, settled).run()
