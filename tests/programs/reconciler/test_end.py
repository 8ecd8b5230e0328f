"""The end of signalbox-reconciler while a reconcile waits: the API server answers all requests except those of reconciles."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from rest import wait_for
from scripted_api_server import ScriptedApiServer

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler"
TRAIN_JOB = {"metadata": {"name": "stuck", "namespace": "default", "uid": "u", "resourceVersion": "5"},
             "spec": {"runtimeRef": {"name": "gone"}}}


class ApiServer(ScriptedApiServer):
    """Serves one lease and TrainJobs, and leaves every other request unanswered."""

    def __init__(self):
        super().__init__()
        self.train_jobs = [TRAIN_JOB]
        self.lease = None
        self.hanging = []  # requests of reconciles

    def answer(self, request, url, body):
        if "watch=" in url.query:
            return self.watch(request, self.train_jobs if url.path.endswith("/trainjobs") else [])
        if "/leases" in url.path:
            if body:
                self.lease = json.loads(body)
                self.lease["metadata"]["resourceVersion"] = str(time.monotonic_ns())
            if self.lease:
                return self.send(request, 200, self.lease)
            return self.send(request, 404, {"kind": "Status", "code": 404, "message": "no lease"})
        self.hanging.append(f"{request.command} {url.path}")
        self.ended.wait()


@pytest.fixture
def api():
    with ApiServer() as server:
        yield server


@pytest.fixture
def start(api, tmp_path):
    """Starts the one reconciler of a test."""
    started = []
    yield lambda: started.append(launch(api, tmp_path)) or started[0]
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def reconciler(api, start):
    """A reconciler whose only reconcile waits for an answer."""
    process = start()
    wait_for("a reconcile to wait", lambda: api.hanging)
    return process


def launch(api, tmp_path):
    kubeconfig = api.kubeconfig(tmp_path, namespace="mine")
    log = tmp_path / "log"
    with open(log, "wb") as file:
        process = subprocess.Popen([BINARY, "--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0"], stderr=file)
    process.log = log
    process.logged = lambda: [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return process


def test_the_namespace_of_a_kubeconfig_is_not_where_the_lease_is(api, reconciler):
    assert api.lease["metadata"]["namespace"] == "kubeflow-system"


def messages(process):
    return [line["msg"] for line in process.logged()]


def test_a_second_signal_ends_it_at_once_and_says_so(reconciler):
    reconciler.send_signal(signal.SIGTERM)
    wait_for("the first to be handled", lambda: "stopping" in messages(reconciler), interval=0.01)
    assert reconciler.poll() is None
    reconciler.send_signal(signal.SIGINT)
    assert reconciler.wait(timeout=20) == 1
    assert messages(reconciler)[-1] == "a second signal: ending at once"


def test_signals_after_the_orderly_end_do_not_change_the_exit_status(api, start):
    api.train_jobs = []
    process = start()
    wait_for("it to lead", lambda: "leading" in messages(process))
    process.send_signal(signal.SIGTERM)
    while '"stopped"' not in process.log.read_text() and process.poll() is None:
        pass
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


def test_a_waiting_reconcile_is_cancelled_and_the_lease_released_at_once(api, reconciler):
    assert api.lease["spec"]["holderIdentity"]
    started = time.monotonic()
    reconciler.send_signal(signal.SIGTERM)
    assert reconciler.wait(timeout=30) == 0
    assert 0.9 < time.monotonic() - started < 15
    assert not api.lease["spec"].get("holderIdentity")
    assert "reconciles did not end in time; they were cut, and the next leader takes them up" in messages(reconciler)
