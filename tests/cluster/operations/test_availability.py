"""Both programs while something is missing: another replica, the API server, a permission."""

import contextlib
import json
import os
import signal
import time

import pytest

from deployment import Signalbox, remove_webhooks
from jobs import train_job
from lean import finished
from rest import conditions, true_conditions, wait_for

MISSING_PERMISSION = "a permission is missing; grant it to this program's service account (RBAC), as in manifests/base/rbac"


def watch_the_lease(program):
    """Waits until it has had more than one chance to take the lease."""
    def looks():
        return program.metric("signalbox_api_requests_total", 'resource="leases')
    before = looks()
    wait_for("it to read the lease", lambda: looks() >= before + 2)


def patches_of_job_sets(program):
    return program.metric("signalbox_api_requests_total", 'resource="jobsets.jobset.x-k8s.io",verb="PATCH"')


def logged(program, message, offset=0):
    """Returns the log lines with that message, as objects."""
    lines = [json.loads(line) for line in program.text()[offset:].splitlines()]
    return [line for line in lines if line["msg"] == message]


def of_watches(program, message, offset):
    """Returns the lines about kinds that are served. The kinds of gang schedulers are checked for now and then."""
    return [line for line in logged(program, message, offset) if not line["resource"].startswith("podgroups.")]


@contextlib.contextmanager
def stopped(program):
    os.kill(program.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(program.pid, signal.SIGCONT)


def finish(rest, name):
    """Completes its JobSet as soon as there is one, and waits until the TrainJob is Complete."""
    wait_for("its JobSet", lambda: rest.get("jobsets", name))
    rest.patch("jobsets", name, finished(), subresource="status")
    wait_for("Complete", lambda: "Complete" in true_conditions(rest.get("trainjobs", name)))


def test_another_replica_takes_over_from_one_that_vanished_or_was_stopped(rest, start):
    first = start()
    wait_for("the first to lead", lambda: first.leads())
    second = start()
    watch_the_lease(second)
    assert first.leads() and not second.leads()

    first.kill()
    vanished = time.monotonic()
    rest.create(train_job("orphan"))
    wait_for("the second to lead", lambda: second.leads(), interval=0.05)
    took = time.monotonic() - vanished
    print(f"takeover after SIGKILL: {took:.1f} s")
    assert took < 20
    finish(rest, "orphan")

    third = start()
    watch_the_lease(third)
    assert second.leads() and not third.leads()
    rest.create(train_job("handed-over"))
    wait_for("its JobSet", lambda: rest.get("jobsets", "handed-over"))
    stopped = time.monotonic()
    assert second.stop() == []
    wait_for("the third to lead", lambda: third.leads(), interval=0.05)
    took = time.monotonic() - stopped
    print(f"takeover after SIGTERM: {took:.1f} s")
    assert took < 3
    finish(rest, "handed-over")


@contextlib.contextmanager
def without_permission(plane, verb, resource):
    """Takes a verb on a resource from the reconciler's role inside the context."""
    def set_rules(rules):
        change = [{"op": "replace", "path": "/rules", "value": rules}]
        plane.kubectl("patch", "clusterrole", "signalbox-reconciler", "--type=json", "-p", json.dumps(change))
    rules = json.loads(plane.kubectl("get", "clusterrole", "signalbox-reconciler", "-o", "json"))["rules"]
    less = [{**rule, "verbs": [each for each in rule["verbs"] if resource not in rule["resources"] or each != verb]} for rule in rules]
    assert less != rules
    set_rules(less)
    try:
        yield
    finally:
        set_rules(rules)


def test_a_missing_permission_is_named_and_not_fatal(plane, rest, start):
    reconciler = start()
    wait_for("the lease", lambda: reconciler.leads())
    with without_permission(plane, "patch", "jobsets"):
        rest.create(train_job("not-yet"))
        denials = wait_for("the log line", lambda: logged(reconciler, MISSING_PERMISSION))
        wait_for("more attempts, which are not logged", lambda: patches_of_job_sets(reconciler) > 2)
    assert [(line["level"], line["verb"], line["resource"]) for line in denials] == [
        ("warn", "patch", "jobsets.jobset.x-k8s.io")]
    finish(rest, "not-yet")
    assert len(logged(reconciler, MISSING_PERMISSION)) == 1


def test_a_job_whose_job_set_no_controller_takes_up_says_so_whether_or_not_events_can_be_read(plane, rest, start):
    def said():
        return conditions(rest.get("trainjobs", "unheard")).get("Stalled", {}).get("message", "")
    unexplained = "JobSet has created no Jobs, and no event was found that says why"
    first = start()
    wait_for("the lease", lambda: first.leads())
    with without_permission(plane, "list", "events"):
        rest.create(train_job("unheard"))
        wait_for("the stall", lambda: said() == unexplained, timeout=60)
        assert [(line["verb"], line["resource"]) for line in logged(first, MISSING_PERMISSION)] == [("list", "events")]
        stalled = conditions(rest.get("trainjobs", "unheard"))["Stalled"]
        assert stalled["reason"] == "JobsNotCreated"
        wait_for("the gauge", lambda: first.metric("signalbox_train_jobs_stalled", 'reason="JobsNotCreated"') == 1)
        assert first.stop() == []
    rest.request("POST", f"/api/v1/namespaces/{rest.namespace}/events", {
        "metadata": {"name": "unheard.refused"}, "type": "Warning", "reason": "ServiceCreationFailed", "message": "exceeded quota",
        "lastTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "involvedObject": {"kind": "JobSet", "namespace": rest.namespace, "name": "unheard",
                           "uid": rest.get("jobsets", "unheard")["metadata"]["uid"]}})
    start()
    wait_for("the event", lambda: said() == "exceeded quota")
    assert conditions(rest.get("trainjobs", "unheard"))["Stalled"]["lastTransitionTime"] == stalled["lastTransitionTime"]
    # Its controller takes it up.
    rest.patch("jobsets", "unheard", {"status": {"replicatedJobsStatus": [
        {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]}}, subresource="status")
    wait_for("the end of the stall", lambda: "Stalled" not in conditions(rest.get("trainjobs", "unheard")))


def test_a_job_goes_on_once_etcd_takes_writes_again(plane, rest, start):
    reconciler = start()
    wait_for("the lease", lambda: reconciler.leads())
    with contextlib.ExitStack() as later:
        with stopped(reconciler):
            rest.create(train_job("unsaved"))
            later.enter_context(plane.full_store())
        wait_for("what the API server says", lambda: "database space exceeded" in reconciler.text())
        wait_for("the lease to be given up", lambda: not reconciler.leads())
        # Nothing could be stored, not even why.
        assert reconciler.running() and reconciler.admin("/healthz")[0] == 200
        assert conditions(rest.get("trainjobs", "unsaved")) == {} and rest.get("jobsets", "unsaved") is None
    finish(rest, "unsaved")
    assert conditions(rest.get("trainjobs", "unsaved")).keys() == {"Complete"}


@pytest.fixture
def installed(plane):
    """Both programs, and their webhooks until the test is over."""
    with Signalbox(plane, os.environ["SIGNALBOX_BIN_DIR"]) as signalbox:
        yield signalbox
        remove_webhooks(plane)


def test_both_programs_outlive_the_api_server(plane, rest, installed):
    reconciler = installed.reconciler
    wait_for("the lease", lambda: reconciler.leads())
    rest.create(train_job("steady"))
    wait_for("the condition Created", lambda: "Created" in conditions(rest.get("trainjobs", "steady")))
    programs = [reconciler, installed.webhook]
    before = [len(program.text()) for program in programs]
    watches = {reconciler: 6, installed.webhook: 2}

    plane.stop_api_server()
    for program, offset in zip(programs, before):
        wait_for("a log line per watch",
                 lambda: len(of_watches(program, "cannot watch; trying again", offset)) == watches[program])
    # Another replica may hold the lease by now: the reconciler cannot know.
    wait_for("the lease to be given up", lambda: not reconciler.leads())
    for program in programs:
        assert program.admin("/healthz")[0] == 200 and program.running()

    plane.start_api_server()
    back = time.monotonic()
    for program, offset in zip(programs, before):
        wait_for("watches", lambda: len(of_watches(program, "watching", offset)) == watches[program])
        assert program.admin("/readyz")[0] == 200
    print(f"all watches back after the API server: {time.monotonic() - back:.1f} s")
    finish(rest, "steady")
    rest.create(train_job("later"))
    finish(rest, "later")

    # One line per change of state, and no false alarm about requests that a starting API server rejects.
    for program, offset in zip(programs, before):
        assert logged(program, MISSING_PERMISSION, offset) == []
    for program, offset in zip(programs, before):
        for message in ("cannot watch; trying again", "watching"):
            assert len(of_watches(program, message, offset)) == watches[program]
    for message in ("cannot use the lease; trying again", "no longer leading", "leading", "the lease works again"):
        assert len(logged(reconciler, message, before[0])) == 1, message
