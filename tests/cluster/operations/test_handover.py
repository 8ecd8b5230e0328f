"""Two reconcilers on the real API server: late writes of a former leader, and a standby."""

import os
import signal
import threading
import time

import pytest

from fault_proxy import Fault
from jobs import runtime, train_job
from lean import finished
from rest import true_conditions, wait_for


@pytest.fixture
def rest(rest):
    rest.create(runtime("tidy", ttlSecondsAfterFinished=1))
    return rest


def writes(program):
    """Returns the number of its writes, without renewals of the lease and events."""
    return sum(program.metric("signalbox_api_requests_total", f'resource="{resource}",verb="{verb}"')
               for verb in ("POST", "PATCH", "DELETE")
               for resource in ("configmaps", "jobsets.jobset.x-k8s.io", "trainjobs.trainer.kubeflow.org",
                                "trainjobs.trainer.kubeflow.org/status"))


def is_idle(program):
    return program.metric("signalbox_reconciles_running") == 0 and program.metric("signalbox_queue_depth") == 0


class LateWrite:
    """A TrainJob with a write of the leader that is delayed until the TrainJob has changed."""

    method, path = "PATCH", "/jobsets/{}"
    holding = True  # from the start; if false, from prepare() on
    spec = {}

    def __init__(self, rest):
        self.rest, self.name = rest, type(self).__name__.lower()
        self.snapshot = f"{self.name}-runtime-snapshot"
        self.held = None

    def is_it(self, request):
        return (self.holding and not self.held and request.method == self.method
                and request.path.endswith(self.path.format(self.name))
                and (request.method != "POST" or f'"{self.snapshot}"'.encode() in request.body))

    def prepare(self):
        """Brings the leader to that write."""

    def done(self):
        """Returns whether the new leader has done its work."""
        return self.job_set()

    def go_on(self):
        """Makes the changes by others that the late write would undo."""
        self.rest.patch("jobsets", self.name, finished(), subresource="status")
        self.wait("Complete", lambda: "Complete" in self.conditions())

    def create(self, **spec):
        self.rest.create(train_job(self.name, **spec))

    def create_anew(self):
        """Deletes all objects by hand, because there is no garbage collector, and creates the TrainJob again."""
        if self.train_job():
            self.rest.patch("trainjobs", self.name, {"metadata": {"finalizers": None}})
        self.rest.delete("trainjobs", self.name)
        self.wait("the TrainJob to be gone", lambda: not self.train_job())
        self.rest.delete("jobsets", self.name)
        self.rest.delete("configmaps", self.snapshot)
        self.create()
        self.wait("the next JobSet", lambda: self.job_set() and "Created" in self.conditions())

    def suspend(self, so):
        self.rest.patch("trainjobs", self.name, {"spec": {"suspend": so}})

    def wait(self, what, probe):
        return wait_for(f"{self.name}: {what}", probe)

    def train_job(self):
        return self.rest.get("trainjobs", self.name)

    def job_set(self):
        return self.rest.get("jobsets", self.name)

    def conditions(self):
        return true_conditions(self.train_job())

    def is_suspended(self):
        return (self.job_set() or {"spec": {}})["spec"].get("suspend", False)

    def state(self):
        """Returns the objects, with their resourceVersions."""
        return self.train_job(), self.job_set(), self.rest.get("configmaps", self.snapshot)


class Created(LateWrite):
    def go_on(self):
        self.rest.patch("jobsets", self.name, {"metadata": {"labels": {"trainer.test/now": "other"},
                                                            "annotations": {"trainer.kubeflow.org/applied-hash": "other"}}})
        super().go_on()


class Reported(LateWrite):
    path = "/trainjobs/{}/status"

    def done(self):
        return "Created" in self.conditions()


class Snapshot(LateWrite):
    method, path = "POST", "/configmaps"


class Suspended(LateWrite):
    holding = False

    def prepare(self):
        self.wait("Created", lambda: "Created" in self.conditions())
        self.holding = True
        self.suspend(True)

    def done(self):
        return self.is_suspended() and "Suspended" in self.conditions()

    def go_on(self):
        self.suspend(False)
        self.wait("it to be resumed", lambda: not self.is_suspended() and "Suspended" not in self.conditions())


class Resumed(LateWrite):
    holding = False
    spec = {"suspend": True}

    def prepare(self):
        # The condition is written first; a late resume needs a JobSet.
        self.wait("Suspended", lambda: {"Suspended", "Created"} <= self.conditions().keys() and self.is_suspended())
        self.holding = True
        self.suspend(False)

    def done(self):
        return not self.is_suspended() and "Suspended" not in self.conditions()

    def go_on(self):
        self.suspend(True)
        self.wait("it to be suspended again", lambda: self.is_suspended() and "Suspended" in self.conditions())


class Late(LateWrite):
    method = "DELETE"
    spec = {"activeDeadlineSeconds": 4}  # enough for its JobSet

    def done(self):
        return not self.job_set() and "Failed" in self.conditions()

    def go_on(self):
        self.create_anew()


class Expired(LateWrite):
    method, path = "DELETE", "/trainjobs/{}"
    spec = {"runtime_name": "tidy"}

    def prepare(self):
        self.wait("its JobSet", self.job_set)
        self.rest.patch("jobsets", self.name, finished(), subresource="status")

    def done(self):
        return "deletionTimestamp" in self.train_job()["metadata"]

    def go_on(self):
        self.create_anew()


def test_late_writes_of_a_leader_that_was_paused_change_nothing(rest, proxy, start):
    """One write of each kind arrives late, while the paused leader still believes that it leads."""
    let_go = threading.Event()
    stories = []

    def choose(request):
        for story in stories:
            if story.is_it(request):
                story.held = request
                return Fault(hold=let_go)
        return None
    proxy.choose = choose
    first = start(proxy.url)
    wait_for("the lease", lambda: first.leads())
    second = start()
    stories += [kind(rest) for kind in (Created, Reported, Snapshot, Suspended, Resumed, Late, Expired)]
    for story in stories:
        story.create(**story.spec)
    for story in stories:
        story.prepare()
    for story in stories:
        story.wait("the first to send the write", lambda: story.held)
    wait_for("its other reconciles to end", lambda: first.metric("signalbox_reconciles_running") == len(stories))
    written = writes(first)
    try:
        os.kill(first.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        wait_for("the second to lead", lambda: second.leads(), interval=0.05)
        took = time.monotonic() - stopped
        print(f"takeover after SIGSTOP: {took:.1f} s")
        assert took < 20
        for story in stories:
            story.wait("the second to do its work", story.done)
        rest.create(train_job("meanwhile"))
        for story in stories:
            story.go_on()
        wait_for("the second to be idle", lambda: is_idle(second))
        before = {story.name: story.state() for story in stories}
        proxy.choose = lambda request: None
    finally:
        let_go.set()
        os.kill(first.pid, signal.SIGCONT)
    wait_for("the first to stop leading", lambda: not first.leads())
    wait_for("the answers to its late writes", lambda: writes(first) == written + len(stories))
    looks = first.metric("signalbox_api_requests_total", 'resource="leases')
    wait_for("it to read the lease more than once", lambda: first.metric(
        "signalbox_api_requests_total", 'resource="leases') >= looks + 2)
    changed = [story.name for story in stories if story.state() != before[story.name]]
    assert changed == []
    assert {story.name: story.held.answered for story in stories} == {story.name: 409 for story in stories}
    # No further writes, although its reconciles continued.
    assert writes(first) == written + len(stories) and not first.leads() and second.leads()
    assert rest.get("jobsets", "meanwhile")


def test_a_leader_that_is_stopped_cleanly_hands_over_at_once_while_its_reconciles_wait(rest, proxy, start):
    """Two reconciles wait for answers, one for Retry-After, and one for a free place."""
    let_go = threading.Event()
    held = []
    refused = set()

    def choose(request):
        if request.method != "PATCH" or "/jobsets/" not in request.path:
            return None
        if request.path.endswith("/refused"):
            refused.add(request)
            return Fault(status=429, retry_after=60)
        held.append(request)
        return Fault(hold=let_go)
    proxy.choose = choose
    first = start(proxy.url, "--concurrency=2")
    wait_for("the lease", lambda: first.leads())
    second = start()
    rest.create(train_job("refused"))
    wait_for("it to get Retry-After", lambda: refused and is_idle(first))
    for number in range(3):
        rest.create(train_job(f"slow-{number}"))
    try:
        wait_for("two requests and one queued job", lambda: len(held) == 2 and first.metric("signalbox_queue_depth") == 1)
        stopped = time.monotonic()
        first.ask_to_end()
        wait_for("the second to lead", lambda: second.leads(), interval=0.05)
        took = time.monotonic() - stopped
        print(f"takeover after SIGTERM: {took:.1f} s")
        assert took < 3
        names = ["refused", "slow-0", "slow-1", "slow-2"]
        wait_for("the second to create all JobSets", lambda: all(rest.get("jobsets", name) for name in names))
        assert first.stop() == []
        wait_for("the second to be idle", lambda: is_idle(second))
        before = [rest.get("jobsets", name) for name in names]
    finally:
        let_go.set()
    wait_for("the last requests of the first to arrive", lambda: all(request.answered for request in held))
    assert [rest.get("jobsets", name) for name in names] == before
