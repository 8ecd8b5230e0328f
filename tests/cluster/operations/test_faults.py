"""The reconciler behind a proxy that loses, delays, cuts and rejects requests, on the real API server.

The model (tests/model) has every kind of fault at every request. Here one random history shows that the real API server behaves as
the model assumes. The long run plays SIGNALBOX_FAULT_SEEDS of them (default 6), from SIGNALBOX_FAULT_FIRST_SEED on.
"""

import os
import pathlib
import random
import re
import time

import pytest

from fault_proxy import Fault
from jobs import train_job
from lean import finished
from rest import true_conditions, wait_for

SEEDS = int(os.environ.get("SIGNALBOX_FAULT_SEEDS", 6))
FIRST_SEED = int(os.environ.get("SIGNALBOX_FAULT_FIRST_SEED", 2))  # this seed has many faults
STORM_SECONDS = 1.5
LONGEST_STORM = 10  # for a busy machine, which has too few faults earlier
FEWEST_FAULTS = 10
WARM_UP = max(2, SEEDS // 4)  # histories after which memory must stay the same
SPARE = 2  # connections that may be open or not: those of events
CONNECTIONS = 64 + 8  # concurrent reconciles, and a few for watches, the lease, events


def at_rest(program, proxy):
    """Returns its memory in MiB and its open files while it is idle. All connections are reset before: broken idle ones are closed
    only with the next request, which is the lease's, so only needed ones are counted."""
    proxy.reset_everything()
    return anonymous_memory(program), len(os.listdir(f"/proc/{program.pid}/fd"))


def anonymous_memory(program):
    """Returns MiB of heap and stack."""
    return int(re.search(r"RssAnon:\s*(\d+) kB", pathlib.Path(f"/proc/{program.pid}/status").read_text()).group(1)) / 2**10


def allowance(program):
    """Returns the tolerance in MiB. Free parts of the heap stay; a sanitizer mixes them with used ones."""
    is_sanitized = "libasan" in pathlib.Path(f"/proc/{program.pid}/maps").read_text()
    return 3 if is_sanitized else 1


def uid(obj):
    return obj["metadata"]["uid"] if obj else None


def finish_job_set(rest, name, kind="Completed"):
    rest.patch("jobsets", name, finished(kind), subresource="status")


class Story:
    """A TrainJob, steps of others, and its expected True conditions: one of `ends`. `steps` run one after the other; each is called
    until it returns true."""

    def __init__(self, rest, name, steps, *ends, **spec):
        self.rest, self.name, self._ends = rest, name, ends
        self._steps = list(steps)
        self._job_sets = set()
        rest.create(train_job(name, **spec))

    def go_on(self):
        job_set = self.rest.get("jobsets", self.name)
        if job_set:
            self._job_sets.add(uid(job_set))
        if self._steps and self._steps[0](self, job_set):
            self._steps.pop(0)

    def ended(self):
        """Returns whether all steps are done and the TrainJob has exactly the expected conditions."""
        self.go_on()
        return not self._steps and set(true_conditions(self.rest.get("trainjobs", self.name))) in self._ends

    def state(self):
        job_set = self.rest.get("jobsets", self.name)
        return f"{self.name}: {len(self._steps)} steps left; {self.rest.get('trainjobs', self.name)}; JobSet: {job_set}"

    def check(self):
        assert len(self._job_sets) <= 1, f"{self.name} had {len(self._job_sets)} JobSets"


def complete(story, job_set):
    if job_set:
        finish_job_set(story.rest, story.name)
    return job_set


def fail(story, job_set):
    if job_set:
        finish_job_set(story.rest, story.name, "Failed")
    return job_set


def suspend(story, job_set):
    if job_set:
        story.rest.patch("trainjobs", story.name, {"spec": {"suspend": True}})
    return job_set


def resume(story, _):
    story.rest.patch("trainjobs", story.name, {"spec": {"suspend": False}})
    return True


def is_suspended(_, job_set):
    return job_set and job_set["spec"].get("suspend")


def runs(_, job_set):
    return job_set and not job_set["spec"].get("suspend")


def has_failed(story, _):
    return "Failed" in true_conditions(story.rest.get("trainjobs", story.name))


def is_gone(_, job_set):
    return not job_set


def stories(rest, seed):
    return [
        Story(rest, f"complete-{seed}", [complete], {"Complete"}),
        Story(rest, f"failed-{seed}", [fail], {"Failed"}),
        Story(rest, f"resumed-{seed}", [is_suspended, resume, runs, complete], {"Complete"}, suspend=True),
        Story(rest, f"suspended-{seed}", [runs, suspend, is_suspended], {"Created", "Suspended"}),
        Story(rest, f"late-{seed}", [has_failed, is_gone], {"Failed"}, activeDeadlineSeconds=3),
        Story(rest, f"steady-{seed}", [runs], {"Created"}),
    ]


def lines_about(unfinished, log):
    """Returns the log lines about these stories, and those about no TrainJob."""
    names = [f'/{story.name}"' for story in unfinished]
    return [line for line in log.splitlines() if '"trainjob"' not in line or any(name in line for name in names)][-200:]


class Chaos:
    """Random faults, of kinds and at a rate that depend on the seed, while `on` is set."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._rate = self._random.uniform(0.1, 0.6)
        self.on = True

    def choose(self, request):
        if not self.on or self._random.random() > self._rate:
            return None
        dice = self._random
        if request.is_watch:
            return dice.choice([
                Fault(lost=True), Fault(cut_after=dice.randrange(3000)), Fault(stall_after=dice.randrange(3000)),
                Fault(lag=dice.uniform(0.1, 1)),
                Fault(status=dice.choice([410, 429, 500, 503, 504]), retry_after=dice.choice([None, 0, 1]))])
        # Few of the objects that are read have an older version.
        if request.method == "GET" and dice.random() < 0.5:
            return Fault(old=True)
        return dice.choice([
            Fault(lost=True), Fault(unanswered=True), Fault(cut_after=dice.randrange(400)),
            Fault(stall_after=dice.randrange(400)), Fault(delay=dice.uniform(0, 1)),
            Fault(delay=dice.uniform(0, 1), unanswered=True),
            Fault(status=dice.choice([401, 408, 429, 500, 502, 503, 504]), retry_after=dice.choice([None, 0, 1]))])


@pytest.fixture
def reconciler(proxy, start):
    """A reconciler behind the proxy that leads."""
    program = start(proxy.url)
    wait_for("the lease", lambda: program.leads())
    return program


def play(seed, rest, proxy, reconciler):
    """Plays one history. Returns the seconds between the last fault and the expected state of all TrainJobs."""
    chaos = Chaos(seed)
    proxy.choose = chaos.choose
    proxy.reset_everything()
    played = stories(rest, seed)
    began, faults_before = time.monotonic(), proxy.faults.total()

    def is_over():
        lasted = time.monotonic() - began
        return lasted > (STORM_SECONDS if proxy.faults.total() - faults_before >= FEWEST_FAULTS else LONGEST_STORM)
    while not is_over():
        for story in played:
            story.go_on()
    calm_at = time.monotonic()
    chaos.on = False
    proxy.reset_everything()  # delayed answers would arrive after the calm
    unfinished = played

    def all_ended():
        nonlocal unfinished
        unfinished = [story for story in unfinished if not story.ended()]
        return not unfinished
    try:
        wait_for(f"the TrainJobs of seed {seed} to have their expected conditions", all_ended, timeout=90)
    except AssertionError:
        print(*lines_about(unfinished, reconciler.text()), f"seed {seed}; {reconciler.state()}; {proxy.state()}",
              *(story.state() for story in unfinished), sep="\n")
        raise
    took = round(time.monotonic() - calm_at, 1)
    for story in played:
        story.check()
        for resource in ("trainjobs", "jobsets"):
            rest.delete(resource, story.name)
        rest.delete("configmaps", f"{story.name}-runtime-snapshot")
    assert proxy.open_connections <= CONNECTIONS
    assert reconciler.metric("process_open_fds") <= CONNECTIONS + 16
    return took


def wait_until_nothing_is_left_to_do(reconciler):
    """Waits until all TrainJobs are gone, and no reconcile runs or is queued."""
    for what in ("signalbox_queue_depth", "signalbox_queue_timers", "signalbox_reconciles_running", "signalbox_train_jobs"):
        wait_for(f"{what} to be 0", lambda what=what: reconciler.metric(what) == 0, timeout=12)
    assert reconciler.metric("signalbox_reconciles_total", 'result="exception"') == 0


def test_every_train_job_reaches_its_end_under_random_faults(rest, proxy, reconciler):
    took = play(FIRST_SEED, rest, proxy, reconciler)
    print(f"all TrainJobs had their expected conditions {took} s after the last fault of {dict(proxy.faults)}")
    assert proxy.faults
    wait_until_nothing_is_left_to_do(reconciler)


@pytest.mark.long
def test_nothing_leaks_over_many_histories(rest, proxy, reconciler):
    assert SEEDS > WARM_UP
    held = {}  # by number of histories
    took = []
    for played in range(1, SEEDS + 1):
        took.append(play(FIRST_SEED + played - 1, rest, proxy, reconciler))
        if played in (WARM_UP, SEEDS):
            held[played] = at_rest(reconciler, proxy)
    print(f"{SEEDS} histories, faults: {dict(proxy.faults)}, the slowest {sorted(took)[-5:]} s after the last, MiB and open files after so many histories: {held}")
    wait_until_nothing_is_left_to_do(reconciler)
    assert SEEDS < 6 or {"lost", "unanswered", "cut_after", "stall_after", "delay", "lag"} <= set(proxy.faults)
    assert SEEDS < 50 or {"old", 401, 410, 429, 500, 503} <= set(proxy.faults)
    # Memory and files do not grow with the later histories, be they 4 or 150.
    (memory_then, files_then), (memory, files) = held[WARM_UP], held[SEEDS]
    assert memory < memory_then + allowance(reconciler)
    assert files <= files_then + SPARE
