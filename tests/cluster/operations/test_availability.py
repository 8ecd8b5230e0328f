"""What our programs do when something is missing for a while: one of them, the API server, a permission."""

import json
import os
import pathlib
import time

import pytest

from deployment import NAMESPACE, Program
from jobs import runtime, train_job
from rest import true_conditions, wait_for

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
MISSING_PERMISSION = "a permission is missing; grant it to our service account (RBAC), as in manifests/base/rbac"


@pytest.fixture
def another(cluster):
    """Starts one more reconciler with the same account, as a second replica is."""
    started = []

    def start():
        program = Program(BINARIES / "signalbox-reconciler", cluster.directory / f"replica-{time.monotonic_ns()}.log", [
            "--kubeconfig", cluster.service_account_kubeconfig(NAMESPACE, "signalbox-reconciler"),
            "--admin-listen", "127.0.0.1:0"])
        started.append(program)
        program.wait_until_ready()
        return program
    yield start
    for program in started:
        program.kill()


def watch_the_lease(program):
    """Until it has had more than one chance to take the lease."""
    def looks():
        return program.metric("signalbox_api_requests_total", 'resource="leases')
    before = looks()
    wait_for("it to look at the lease", lambda: looks() >= before + 2)


def patches_of_job_sets(program):
    return program.metric("signalbox_api_requests_total", 'resource="jobsets.jobset.x-k8s.io",verb="PATCH"')


def logged(program, message, offset=0):
    """The log lines with that message, as objects."""
    lines = [json.loads(line) for line in program.text()[offset:].splitlines()]
    return [line for line in lines if line["msg"] == message]


def is_complete(rest, name):
    return "Complete" in true_conditions(rest.get("trainjobs", name))


def test_another_replica_takes_over_from_one_that_vanished_or_was_stopped(signalbox, rest, another):
    rest.create(runtime())
    first = signalbox.reconciler
    wait_for("the first to lead", lambda: first.leads())
    second = another()
    watch_the_lease(second)
    assert first.leads() and not second.leads()

    signalbox.reconciler = None
    first.kill()
    vanished = time.monotonic()
    rest.create(train_job("orphan"))
    wait_for("the second to lead", lambda: second.leads(), interval=0.05)
    took = time.monotonic() - vanished
    print(f"takeover after SIGKILL: {took:.1f} s")
    assert took < 20
    wait_for("Complete", lambda: is_complete(rest, "orphan"))

    third = another()
    watch_the_lease(third)
    assert second.leads() and not third.leads()
    rest.create(train_job("handed-over", seconds=3))
    stopped = time.monotonic()
    assert second.stop() == []
    wait_for("the third to lead", lambda: third.leads(), interval=0.05)
    took = time.monotonic() - stopped
    print(f"takeover after SIGTERM: {took:.1f} s")
    assert took < 3
    wait_for("Complete", lambda: is_complete(rest, "handed-over"))
    assert third.stop() == []


def test_a_missing_permission_is_named_and_not_fatal(cluster, signalbox, rest):
    rest.create(runtime())
    wait_for("the lease", lambda: signalbox.reconciler.leads())
    offset = len(signalbox.reconciler.text())
    role = json.loads(cluster.kubectl("get", "clusterrole", "signalbox-reconciler", "-o", "json"))
    complete = json.dumps(role["rules"])

    def set_rules(rules):
        change = [{"op": "replace", "path": "/rules", "value": rules}]
        cluster.kubectl("patch", "clusterrole", "signalbox-reconciler", "--type=json", "-p", json.dumps(change))

    for rule in role["rules"]:
        if "jobsets" in rule["resources"]:
            rule["verbs"].remove("patch")
    set_rules(role["rules"])
    try:
        rest.create(train_job("not-yet"))
        told = wait_for("the complaint", lambda: logged(signalbox.reconciler, MISSING_PERMISSION, offset))
        wait_for("more attempts, which are not told", lambda: patches_of_job_sets(signalbox.reconciler) > 2)
    finally:
        set_rules(json.loads(complete))
    assert [(line["level"], line["verb"], line["resource"]) for line in told] == [
        ("warn", "patch", "jobsets.jobset.x-k8s.io")]
    wait_for("Complete", lambda: is_complete(rest, "not-yet"))
    assert len(logged(signalbox.reconciler, MISSING_PERMISSION, offset)) == 1


def test_both_programs_outlive_the_api_server(cluster, installed, rest):
    # The last one, and without a clean-up: Kubernetes' own controllers need up to half a minute to come back.
    signalbox = installed
    rest.create(runtime())
    wait_for("the lease", lambda: signalbox.reconciler.leads())
    rest.create(train_job("steady", seconds=4))
    wait_for("its pod", lambda: rest.list("pods", selector="jobset.sigs.k8s.io/jobset-name=steady"))
    programs = [signalbox.reconciler, signalbox.webhook]
    before = [len(program.text()) for program in programs]
    watches = {signalbox.reconciler: 4, signalbox.webhook: 2}

    cluster.stop_api_server()
    for program, offset in zip(programs, before):
        wait_for("a complaint per watch",
                 lambda: len(logged(program, "cannot watch; trying again", offset)) == watches[program])
    # It may have been another's by now, for all that it knows.
    wait_for("the lease to be given up", lambda: not signalbox.reconciler.leads())
    for program in programs:
        assert program.admin("/healthz")[0] == 200 and program.running()

    cluster.start_api_server()
    back = time.monotonic()
    for program, offset in zip(programs, before):
        wait_for("watches", lambda: len(logged(program, "watching", offset)) == watches[program])
        assert program.admin("/readyz")[0] == 200
    print(f"all watches back after the API server: {time.monotonic() - back:.1f} s")
    wait_for("Complete", lambda: is_complete(rest, "steady"), timeout=60)
    status = rest.get("trainjobs", "steady")["status"]["jobsStatus"]
    assert [(job["succeeded"], job["active"]) for job in status] == [(1, 0)]
    rest.create(train_job("later"))
    wait_for("its JobSet", lambda: rest.get("jobsets", "later"))

    # One line per change of state, and no false alarm about what a server that starts refuses at first.
    for program, offset in zip(programs, before):
        assert logged(program, MISSING_PERMISSION, offset) == []
    for program, offset in zip(programs, before):
        for message in ("cannot watch; trying again", "watching"):
            assert len(logged(program, message, offset)) == watches[program]
    for message in ("cannot use the lease; trying again", "no longer leading", "leading", "the lease works again"):
        assert len(logged(signalbox.reconciler, message, before[0])) == 1, message
