"""One control plane per folder, Signalbox installed on it once, and a namespace per test.

A file that needs another control plane, or programs with other options from the start, has a fixture `cluster` or `installed` of
its own. A file with its own `installed` needs its own `cluster`, too, because two installations would share one lease."""

import functools
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
from together import new_namespace, pytest_pyfunc_call, pytest_runtest_makereport  # noqa: F401: hooks of pytest


@pytest.fixture(scope="session", autouse=True)
def secrets():
    """No log of Signalbox may contain a Secret, token or key of the tests."""
    watch = SecretWatch(Program.logs)
    ControlPlane.observers.append(watch)
    yield watch
    ControlPlane.observers.remove(watch)
    assert watch.found == []


@pytest.fixture(scope="session")
def cluster(request):
    with ControlPlane() as control_plane:
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0


@pytest.fixture(scope="session")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"]) as signalbox:
        signalbox.install_runtimes()
        yield signalbox


@pytest.fixture(scope="session")
def admin(cluster):
    """A client for objects without a namespace, or in a namespace that no test owns."""
    return Rest(cluster.kubeconfig)


@pytest.fixture
def namespace(request, admin):
    """The test's own namespace. One that runs together with others gets another one there (tests/bed/together.py)."""
    if "together" in request.keywords:
        yield "default"
        return
    with new_namespace(admin) as name:
        yield name


@pytest.fixture
def kubeconfig(cluster, namespace):
    """The administrator's kubeconfig with the test's namespace."""
    return cluster.admin_kubeconfig(namespace)


@pytest.fixture
def rest(kubeconfig):
    """A client for the test's namespace."""
    return Rest(kubeconfig)


@pytest.fixture
def kubectl(cluster, kubeconfig):
    """cluster.kubectl() in the test's namespace."""
    return functools.partial(cluster.kubectl, kubeconfig=kubeconfig)


@pytest.fixture(scope="module")
def plane():
    """etcd and an API server without controllers; a file that needs another one overrides this fixture."""
    with LeanPlane() as lean:
        yield lean


@pytest.fixture
def proxy(plane):
    """A proxy between a reconciler and the API server of the file's `plane`."""
    with FaultProxy(plane) as between:
        yield between


@pytest.fixture
def begin(plane):
    """Starts reconcilers on `plane` and waits until they are ready. Checks that they end cleanly."""
    started = []

    def reconciler(kubeconfig, *options, environment=None):
        program = Program(pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler",
                          plane.directory / f"reconciler-{time.monotonic_ns()}.log",
                          ["--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0", *options], environment)
        started.append(program)
        program.wait_until_ready()
        return program
    yield reconciler
    # A program that the test killed has ended with that signal. Any other end is an error.
    assert [problem for program in started if program.running() or program.exit_status() != -signal.SIGKILL
            for problem in program.stop()] == []


@pytest.fixture
def start(plane, begin):
    """Starts reconcilers with their own role; `start(url)` starts one behind a proxy."""
    return lambda url=None, *options, environment=None: begin(plane.reconciler_kubeconfig(url), "--log-level=debug", *options,
                                                              environment=environment)


@pytest.fixture
def signalbox(installed):
    """Both programs with their default options. After the test they have them again, and the runtimes are the shipped ones."""
    yield installed
    installed.restore()
