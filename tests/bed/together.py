"""Tests that run at the same time, since most of their time is spent waiting for controllers:

  @pytest.mark.together

The marked tests of a session start when the first of them is reached, a few at a time, each in a namespace of its own. They may take
`signalbox`, `admin`, `rest`, `kubectl`, `tmp_path`, parameters, and fixtures of the session. They leave alone what all share: the
programs, their metrics, nodes, and cluster-scoped objects, except those with names of their own. Cluster runtimes of the same name are
shared, so they are equal and stay so.

among="name": only with those that have the same name, for a file whose programs have options of their own. first=True: starts before the
others, because it takes long. after: called with the client of the test's namespace at the end.
"""

import concurrent.futures
import contextlib
import copy
import functools
import inspect
import pathlib
import tempfile
import threading
import time

import pytest
import rest as client
from rest import Rest, wait_for

AT_ONCE = 8
_SECONDS = "seconds of its own run"  # a property of a marked test
_GIVEN = {"signalbox", "admin", "rest", "kubectl", "tmp_path"}  # to each test its own, but for the first two


@contextlib.contextmanager
def new_namespace(admin):
    """Yields the name of a namespace. Its deletion continues while the next test runs."""
    name = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}})["metadata"]["name"]
    wait_for("the namespace's service account, which Pods need",
             lambda: admin.get("serviceaccounts", "default", name), interval=0.02)
    try:
        yield name
    finally:
        admin.delete("namespaces", name)


class _SharedRuntimes:
    """The cluster runtimes of the tests that run together."""

    def __init__(self):
        self._lock = threading.Lock()
        self._made = {}  # name: as it was sent, as it is stored

    def create(self, runtime, create):
        name = runtime["metadata"]["name"]
        with self._lock:
            if name not in self._made:
                self._made[name] = copy.deepcopy(runtime), create(runtime)
            sent, stored = self._made[name]
        assert sent == runtime, f"tests that run together have different runtimes of the name {name}"
        return copy.deepcopy(stored)

    def names(self):
        return list(self._made)


class _Client(Rest):
    def __init__(self, kubeconfig, runtimes):
        super().__init__(kubeconfig)
        self._runtimes = runtimes

    def create(self, obj, resource=None, dry_run=False):
        if obj["kind"] != "ClusterTrainingRuntime" or dry_run:
            return super().create(obj, resource, dry_run)
        return self._runtimes.create(obj, super().create)


class _Group:
    """Runs all tests of a group, and keeps their outcomes. fixture: returns the value of a fixture of the session."""

    def __init__(self, items, fixture):
        self._cluster, self._admin = fixture("cluster"), fixture("admin")
        self._signalbox = fixture("installed") if any("signalbox" in item.fixturenames for item in items) else None
        self._runtimes = _SharedRuntimes()
        self._of_session = {name: fixture(name) for item in items for name in _of_session(item)}
        try:
            with client.more_patience():
                self.outcomes = self._outcomes(sorted(items, key=lambda item: not _mark(item).kwargs.get("first")))
        finally:
            # The tests that follow make cluster runtimes of the same names.
            for name in self._runtimes.names():
                self._admin.delete("clustertrainingruntimes", name)

    def _outcomes(self, items):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = {item.nodeid: pool.submit(self._run, item) for item in items}
            try:
                concurrent.futures.wait(outcomes.values())
            except BaseException:  # Ctrl-C
                pool.shutdown(cancel_futures=True)
                raise
        return outcomes

    def _run(self, item):
        wanted = inspect.signature(item.obj).parameters
        started = time.monotonic()
        given = {"signalbox": self._signalbox, "admin": self._admin, **self._of_session, **_parameters(item)}
        with contextlib.ExitStack() as ends:
            if {"rest", "kubectl"} & {*wanted}:
                kubeconfig = self._cluster.admin_kubeconfig(ends.enter_context(new_namespace(self._admin)))
                given["rest"] = _Client(kubeconfig, self._runtimes)
                given["kubectl"] = functools.partial(self._cluster.kubectl, kubeconfig=kubeconfig)
            given["tmp_path"] = pathlib.Path(ends.enter_context(tempfile.TemporaryDirectory()))
            if after := _mark(item).kwargs.get("after"):
                ends.callback(after, given["rest"])
            try:
                item.obj(**{name: given[name] for name in wanted})
            finally:
                item.user_properties.append((_SECONDS, time.monotonic() - started))


def _of_session(item):
    """Returns the names of the fixtures that a test shares with the others."""
    names = inspect.signature(item.obj).parameters.keys() - _GIVEN - _parameters(item).keys()
    for name in names:
        scope = item._fixtureinfo.name2fixturedefs[name][-1].scope
        assert scope == "session", f"{item.nodeid} runs together with others, and {name} is a fixture of a {scope}"
    return names


def _mark(item):
    return item.get_closest_marker("together")


def _parameters(item):
    return getattr(getattr(item, "callspec", None), "params", {})


_groups = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A hook of pytest: a marked test took as long as its own run, and the first of them not as long as all."""
    result = yield
    if call.when == "call" and (seconds := dict(item.user_properties).get(_SECONDS)):
        result.get_result().duration = seconds


def pytest_pyfunc_call(pyfuncitem):
    """A hook of pytest: the outcome of a marked test is that of its run among the others."""
    if not _mark(pyfuncitem):
        return None
    among = _mark(pyfuncitem).kwargs.get("among")
    if among not in _groups:
        items = [item for item in pyfuncitem.session.items if (mark := _mark(item)) and mark.kwargs.get("among") == among]
        _groups[among] = _Group(items, pyfuncitem._request.getfixturevalue)
    _groups[among].outcomes[pyfuncitem.nodeid].result()
    return True
