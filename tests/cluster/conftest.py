"""One control plane per test file, one installed Signalbox on it, and a clean namespace per test."""

import os
import pathlib
import signal
import time

import pytest

from controlplane import ControlPlane
from deployment import Program, Signalbox
from fault_proxy import FaultProxy
from lean import LeanPlane
from rest import Rest, wait_for
from secret_watch import SecretWatch


@pytest.fixture(scope="session", autouse=True)
def secrets():
    """Whatever a test does: none of the Secrets, tokens and keys that there were may stand in a log of ours."""
    watch = SecretWatch(Program.logs)
    ControlPlane.observers.append(watch)
    yield watch
    ControlPlane.observers.remove(watch)
    assert watch.found == []


@pytest.fixture(scope="module")
def cluster(request):
    with ControlPlane() as control_plane:
        failed_before = request.session.testsfailed
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > failed_before


@pytest.fixture(scope="module")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"]) as signalbox:
        signalbox.install_runtimes()
        yield signalbox


@pytest.fixture(scope="module")
def admin(cluster):
    return Rest(cluster.kubeconfig)


@pytest.fixture
def rest(admin):
    return admin


@pytest.fixture(scope="module")
def plane():
    """An API server and etcd without controllers; files that need another one have it by this name."""
    with LeanPlane() as lean:
        yield lean


@pytest.fixture
def proxy(plane):
    """Between a reconciler and the API server of the file's `plane`."""
    with FaultProxy(plane) as between:
        yield between


@pytest.fixture
def begin(plane):
    """Starts reconcilers there and waits until they are ready. They must end in order."""
    started = []

    def reconciler(kubeconfig, *options):
        program = Program(pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler",
                          plane.directory / f"reconciler-{time.monotonic_ns()}.log",
                          ["--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0", *options])
        started.append(program)
        program.wait_until_ready()
        return program
    yield reconciler
    # What a test killed has ended with that signal; what ended by itself has not.
    assert [problem for program in started if program.running() or program.exit_status() != -signal.SIGKILL
            for problem in program.stop()] == []


@pytest.fixture
def start(plane, begin):
    """The same with the permissions of ours; `start(url)` one behind a proxy."""
    return lambda url=None, *options: begin(plane.reconciler_kubeconfig(url), "--log-level=debug", *options)


@pytest.fixture
def signalbox(installed, admin):
    """Both programs running with their default options; afterwards nothing of the test is left."""
    shipped = {r["metadata"]["name"]: r for r in admin.list("clustertrainingruntimes")}
    yield installed
    if installed.reconciler is None or "--created-condition=on-failure" in installed.reconciler.arguments:
        installed.restart_reconciler()
    for runtime in admin.list("trainingruntimes"):
        admin.delete("trainingruntimes", runtime["metadata"]["name"])
    for runtime in admin.list("clustertrainingruntimes"):
        name = runtime["metadata"]["name"]
        if name not in shipped:
            admin.delete("clustertrainingruntimes", name)
        elif runtime["spec"] != shipped[name]["spec"]:
            runtime["spec"] = shipped[name]["spec"]
            admin.replace("clustertrainingruntimes", runtime)
    wait_for("the namespace to be empty", lambda: sweep(admin))


def sweep(admin):
    """Deletes TrainJobs and what they own; whether there was nothing left. The garbage collector would do the latter, but
    it takes up to 30 s to learn of kinds that were installed just now; and a pass that is under way while its TrainJob is
    deleted may create more."""
    left = [(kind, obj["metadata"]["name"]) for kind in ("trainjobs", "jobsets", "configmaps") for obj in admin.list(kind)
            if kind != "configmaps" or obj["metadata"]["name"].endswith("-runtime-snapshot")]
    for kind, name in left:
        admin.delete(kind, name)
    return not left and not admin.list("pods")
