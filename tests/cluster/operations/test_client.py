"""The reconciler as a client of the API server: options that bound its requests, credentials that change, dead connections."""

import os
import pathlib
import threading
import time

import pytest

from controlplane.certificates import Authority
from controlplane.kubeconfig import write_kubeconfig
from deployment import NAMESPACE
from fault_proxy import Fault
from jobs import train_job
from rest import wait_for

KEEPALIVE_TIMER = "02"  # in /proc/net/tcp
NOTICED_WITHIN = 30  # seconds, of a dead connection
LONGEST_SILENCE = 15 * 100  # ticks until a quiet connection is probed


@pytest.fixture
def start(begin):
    """Starts a reconciler that leads."""
    def leader(kubeconfig, *options):
        program = begin(kubeconfig, *options)
        wait_for("the lease", lambda: program.metric("signalbox_leader") == 1)
        return program
    return leader


def is_of_a_pass(request):
    """Returns whether a reconcile sent the request. Requests of watches, the lease and events have no such limits."""
    return not request.is_watch and "/leases" not in request.path and "/events" not in request.path


# The last case has more requests under way than a client has connections by default. An eighth of the concurrency is kept for other
# namespaces.
@pytest.mark.parametrize("options, jobs, at_a_time", [(["--concurrency", "2"], 5, 2), ([], 5, 5),
                                                      (["--concurrency", "160"], 143, 140)])
def test_concurrency_is_the_number_of_train_jobs_that_are_reconciled_at_a_time(plane, rest, proxy, start, options, jobs, at_a_time):
    let_go = threading.Event()
    held = set()

    def choose(request):
        if request.method in ("POST", "PATCH") and "/jobsets" in request.path:
            held.add(request)
            return Fault(hold=let_go)
        return None
    proxy.choose = choose
    try:
        reconciler = start(plane.reconciler_kubeconfig(proxy.url), *options)
        for number in range(jobs):
            rest.create(train_job(f"job-{at_a_time}-{number}"))
        wait_for("reconciles", lambda: len(held) == at_a_time
                 and reconciler.metric("signalbox_queue_depth") == jobs - at_a_time)
        assert proxy.open_connections >= at_a_time
        assert not rest.list("jobsets")
    finally:
        let_go.set()
    wait_for("all JobSets", lambda: len(rest.list("jobsets")) == jobs)


def test_qps_bounds_the_requests_of_reconciles_and_burst_lets_some_through_at_once(plane, rest, proxy, start):
    came = []

    def choose(request):
        if is_of_a_pass(request):
            came.append(time.monotonic())
    proxy.choose = choose
    start(plane.reconciler_kubeconfig(proxy.url), "--qps", "1", "--burst", "6")
    for number in range(3):  # about five requests each
        rest.create(train_job(f"slow-{number}"))
    wait_for("twelve requests", lambda: len(came) >= 12, timeout=60)
    assert came[5] - came[0] < 4, "with a burst of one it takes five seconds"
    assert came[11] - came[0] > 5, "six permits, and then one a second"


def test_a_token_that_was_rotated_is_read_again_at_once_when_the_old_one_is_refused(plane, rest, proxy, start):
    kubeconfig = plane.reconciler_kubeconfig(proxy.url)
    token_file = plane.directory / f"{NAMESPACE}-signalbox-reconciler.token"
    reconciler = start(kubeconfig)
    old = token_file.read_text()
    plane.reconciler_kubeconfig(proxy.url)  # requests another token
    new = token_file.read_text()
    assert new != old
    used = set()

    def choose(request):
        used.add(request.authorization)
        return Fault(status=401) if request.authorization == f"Bearer {old}" else None
    proxy.choose = choose
    rest.create(train_job("rotated"))
    wait_for("its JobSet", lambda: rest.get("jobsets", "rotated"), timeout=20)
    assert f"Bearer {new}" in used
    assert reconciler.metric("signalbox_leader") == 1, "the lease was kept"


def test_a_ca_that_was_replaced_is_trusted_without_a_restart(plane, rest, proxy, start):
    bundle = plane.directory / "rotating-ca.crt"
    bundle.write_bytes(plane.ca_file.read_bytes())
    kubeconfig = plane.directory / "rotating.kubeconfig"
    token_file = plane.reconciler_kubeconfig(proxy.url).parent / f"{NAMESPACE}-signalbox-reconciler.token"
    write_kubeconfig(kubeconfig, proxy.url, bundle, {"tokenFile": str(token_file)})
    start(kubeconfig)
    successor = Authority(plane.directory / "successor")
    proxy.present(*successor.issue("fault-proxy", "kube-apiserver", hosts=["127.0.0.1"]))
    proxy.reset_everything()
    bundle.write_bytes(successor.cert.read_bytes())
    rest.create(train_job("trusting"))
    # The reconciler reads files again twice a minute.
    wait_for("its JobSet", lambda: rest.get("jobsets", "trusting"), timeout=90)


def test_a_dead_connection_is_detected_within_half_a_minute(plane, start):
    reconciler = start(plane.reconciler_kubeconfig())
    port = f":{int(plane.server.rsplit(':', 1)[1]):04X}"
    inodes = {os.readlink(f"/proc/{reconciler.pid}/fd/{number}") for number in os.listdir(f"/proc/{reconciler.pid}/fd")}

    def probed():
        lines = [line.split() for line in pathlib.Path(f"/proc/{reconciler.pid}/net/tcp").read_text().splitlines()[1:]]
        timers = [line[5].split(":") for line in lines if line[2].endswith(port) and f"socket:[{line[9]}]" in inodes]
        # Only a connection without data to send has this timer.
        return [int(when, 16) for kind, when in timers if kind == KEEPALIVE_TIMER]
    timers = wait_for("quiet connections", probed)
    assert max(timers) <= LONGEST_SILENCE


def watches(program):
    """Returns the number of watch requests of each kind that is always watched."""
    return [program.metric("signalbox_api_requests_total", f'resource="{kind}",verb="WATCH"') for kind in (
        "trainjobs.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io", "trainingruntimes.trainer.kubeflow.org",
        "clustertrainingruntimes.trainer.kubeflow.org")]


def test_requests_and_watches_on_dead_connections_are_given_up_and_sent_again(plane, rest, proxy, start):
    """No packet comes back, not even from the other end's kernel."""
    let_go = threading.Event()
    held = []

    def choose(request):
        if request.method == "PATCH" and request.path.endswith("/jobsets/asked-before"):
            held.append(request)
            return Fault(hold=let_go)
        return None
    proxy.choose = choose
    reconciler = start(plane.reconciler_kubeconfig(proxy.url))
    rest.create(train_job("asked-before"))
    wait_for("a request on its way", lambda: held)
    try:
        proxy.choose = lambda request: None
        before = watches(reconciler)
        proxy.vanish()
        vanished = time.monotonic()
        rest.create(train_job("unseen"))  # its watch is one of the dead connections
        for name in ("asked-before", "unseen"):
            wait_for(f"the JobSet {name}", lambda: rest.get("jobsets", name), timeout=NOTICED_WITHIN + 15)
        assert time.monotonic() - vanished < NOTICED_WITHIN + 10
        wait_for("all watches", lambda: all(now > then for now, then in zip(watches(reconciler), before)),
                 timeout=NOTICED_WITHIN)
        wait_for("the lease", lambda: reconciler.metric("signalbox_leader") == 1)
    finally:
        let_go.set()
