"""The reconciler behind a proxy that loses, delays, cuts and refuses what passes through it, on the real API server.

Every kind of fault at every request is the model's (tests/model); here one random history shows that the real API server is as the
model says. The long run plays SIGNALBOX_FAULT_SEEDS of them (default 6), of which SIGNALBOX_FAULT_FIRST_SEED is the first one.
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
FIRST_SEED = int(os.environ.get("SIGNALBOX_FAULT_FIRST_SEED", 2))  # of many faults
STORM_SECONDS = 1.5
LONGEST_STORM = 10  # where a busy machine sees too few faults until then
FEWEST_FAULTS = 10
WARM_UP = max(2, SEEDS // 4)  # histories after which memory has to stay as it is
SPARE = 2  # connections that may be open or not: events go beside the lease
CONNECTIONS = 64 + 8  # as many as passes at a time, and a few: watches, the lease, events


def at_rest(program, proxy):
    """What it holds when nothing is to be done: MiB, and open files. Only connections that it has needed since are
    among them: those that broke while they were idle are closed when the next request comes, that of the lease."""
    proxy.reset_everything()
    return memory_when_calm(program), len(os.listdir(f"/proc/{program.pid}/fd"))


def memory_when_calm(program):
    """MiB of heap and stack, once they have been given back: that happens a few seconds after the last pass."""
    def resident():
        status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s*(\d+) kB", status).group(1)) / 2**10
    lowest, since = resident(), time.monotonic()
    while time.monotonic() - since < 12:
        time.sleep(0.5)
        if (now := resident()) < lowest:
            lowest, since = now, time.monotonic()
    return round(lowest, 2)


def allowance(program):
    """MiB that it may hold more by chance. The sanitizer gives nothing back, and mixes what is free with what is not."""
    is_sanitized = "libasan" in pathlib.Path(f"/proc/{program.pid}/maps").read_text()
    return 3 if is_sanitized else 0.3


def uid(obj):
    return obj["metadata"]["uid"] if obj else None


def finish_job_set(rest, name, kind="Completed"):
    rest.patch("jobsets", name, finished(kind), subresource="status")


class Story:
    """A TrainJob, what others do to it, and which conditions are True in the end: one of `ends`. `steps` run one after the
    other, each as soon as the one before it is through; each returns whether it is."""

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
        """Nothing is left to do, and the TrainJob has the conditions that it should have, no more and no less."""
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
    created = "Created"
    return [
        Story(rest, f"complete-{seed}", [complete], {created, "Complete"}),
        Story(rest, f"failed-{seed}", [fail], {created, "Failed"}),
        Story(rest, f"resumed-{seed}", [is_suspended, resume, runs, complete], {created, "Complete"}, suspend=True),
        Story(rest, f"suspended-{seed}", [runs, suspend, is_suspended], {created, "Suspended"}),
        # There may be nothing to end yet when the time is up.
        Story(rest, f"late-{seed}", [has_failed, is_gone], {created, "Failed"}, {"Failed"}, activeDeadlineSeconds=3),
        Story(rest, f"steady-{seed}", [runs], {created}),
    ]


def told_of(unfinished, log):
    """The lines about these stories, and those about no TrainJob."""
    names = [f'/{story.name}"' for story in unfinished]
    return [line for line in log.splitlines() if '"trainjob"' not in line or any(name in line for name in names)][-200:]


class Chaos:
    """Faults at random, of a kind and rate that the seed says, for as long as it is switched on."""

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
        # Few objects are read that have had another version yet.
        if request.method == "GET" and dice.random() < 0.5:
            return Fault(old=True)
        return dice.choice([
            Fault(lost=True), Fault(unanswered=True), Fault(cut_after=dice.randrange(400)),
            Fault(stall_after=dice.randrange(400)), Fault(delay=dice.uniform(0, 1)),
            Fault(delay=dice.uniform(0, 1), unanswered=True),
            Fault(status=dice.choice([401, 408, 429, 500, 502, 503, 504]), retry_after=dice.choice([None, 0, 1]))])


@pytest.fixture
def reconciler(proxy, start):
    """Behind the proxy, and it leads."""
    program = start(proxy.url)
    wait_for("the lease", lambda: program.leads())
    return program


def play(seed, rest, proxy, reconciler):
    """One history. Returns after how many seconds of calm all TrainJobs were as they should be."""
    chaos = Chaos(seed)
    proxy.choose = chaos.choose
    proxy.reset_everything()
    told = stories(rest, seed)
    began, faults_before = time.monotonic(), proxy.faults.total()

    def is_over():
        lasted = time.monotonic() - began
        return lasted > (STORM_SECONDS if proxy.faults.total() - faults_before >= FEWEST_FAULTS else LONGEST_STORM)
    while not is_over():
        for story in told:
            story.go_on()
    calm_at = time.monotonic()
    chaos.on = False
    proxy.reset_everything()  # what is stuck or late by now stays so: it is lost
    unfinished = told

    def all_ended():
        nonlocal unfinished
        unfinished = [story for story in unfinished if not story.ended()]
        return not unfinished
    try:
        wait_for(f"the TrainJobs of seed {seed} to be as they should", all_ended, timeout=90)
    except AssertionError:
        print(*told_of(unfinished, reconciler.text()), f"seed {seed}; {reconciler.state()}; {proxy.state()}",
              *(story.state() for story in unfinished), sep="\n")
        raise
    took = round(time.monotonic() - calm_at, 1)
    for story in told:
        story.check()
        for resource in ("trainjobs", "jobsets"):
            rest.delete(resource, story.name)
        rest.delete("configmaps", f"{story.name}-runtime-snapshot")
    assert proxy.open_connections <= CONNECTIONS
    assert reconciler.metric("process_open_fds") <= CONNECTIONS + 16
    return took


def wait_until_nothing_is_left_to_do(reconciler):
    """All TrainJobs are gone, and with them whatever was under way or to come."""
    for what in ("signalbox_queue_depth", "signalbox_queue_timers", "signalbox_passes_running", "signalbox_train_jobs"):
        wait_for(f"{what} to be 0", lambda what=what: reconciler.metric(what) == 0, timeout=12)
    assert reconciler.metric("signalbox_passes_total", 'result="exception"') == 0


def test_every_train_job_reaches_its_end_whatever_happens_on_the_way(rest, proxy, reconciler):
    took = play(FIRST_SEED, rest, proxy, reconciler)
    print(f"all was well {took} s after the last fault of {dict(proxy.faults)}")
    assert proxy.faults
    wait_until_nothing_is_left_to_do(reconciler)


@pytest.mark.long
def test_nothing_leaks_over_many_histories(rest, proxy, reconciler):
    assert SEEDS > WARM_UP
    held = {}  # after so many histories
    took = []
    for played in range(1, SEEDS + 1):
        took.append(play(FIRST_SEED + played - 1, rest, proxy, reconciler))
        if played in (WARM_UP, SEEDS):
            held[played] = at_rest(reconciler, proxy)
    print(f"{SEEDS} histories, faults: {dict(proxy.faults)}, the slowest {sorted(took)[-5:]} s after the last, MiB and open files after so many histories: {held}")
    wait_until_nothing_is_left_to_do(reconciler)
    assert SEEDS < 6 or {"lost", "unanswered", "cut_after", "stall_after", "delay", "lag"} <= set(proxy.faults)
    assert SEEDS < 50 or {"old", 401, 410, 429, 500, 503} <= set(proxy.faults)
    # Nothing is left of those that came after the first few, be they 4 or 150.
    (memory_then, files_then), (memory, files) = held[WARM_UP], held[SEEDS]
    assert memory < memory_then + allowance(reconciler)
    assert files <= files_then + SPARE
