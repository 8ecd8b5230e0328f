"""signalbox-reconciler that has no file descriptors left when it loses its connections: the shipped program, since UBSan needs descriptors of
its own to look at memory."""

import json
import re
import resource
import socket

import pytest

from deployment import Program
from paths import shipped
from rest import wait_for
from scripted_api_server import ScriptedApiServer
from test_garbage import train_job


class ApiServer(ScriptedApiServer):
    """Has the TrainJobs `names`, and can end all connections."""

    def __init__(self):
        super().__init__()
        self.names = ["first"]
        self.lease = None
        self.seen = []  # paths
        self.changes = []  # bodies of writes to a TrainJob
        self._connections = []

    def answer(self, request, url, body):
        self.seen.append(url.path)
        self._connections.append(request.connection)
        if "watch=" in url.query:
            jobs = self.names if url.path.endswith("/trainjobs") else ()
            return self.watch(request, [train_job(name, version) for version, name in enumerate(jobs, 1)])
        if "/leases" in url.path:
            if body:
                self.lease = json.loads(body) | {"metadata": {"resourceVersion": str(len(self.seen))}}
            if self.lease:
                return self.send(request, 200, self.lease)
        if found := re.search(r"/trainjobs/(\w+)", url.path):
            if body:
                self.changes.append(json.loads(body))
            return self.send(request, 200, train_job(found[1], 8))
        self.send(request, 404, {"kind": "Status", "code": 404, "message": "there is nothing"})

    def end_connections(self):
        connections, self._connections = self._connections, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already

    def has_reconciled(self, name):
        return any(path.endswith(f"/trainjobs/{name}") for path in self.seen)


@pytest.fixture
def api():
    with ApiServer() as server:
        yield server


def test_without_descriptors_it_says_so_and_goes_on_when_it_has_some(api, tmp_path):
    kubeconfig = api.kubeconfig(tmp_path)
    reconciler = Program(shipped("signalbox-reconciler"), tmp_path / "log", ["--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0"])
    wait_for("the first TrainJob to be reconciled", lambda: api.has_reconciled("first"))

    limits = resource.prlimit(reconciler.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(reconciler.pid, resource.RLIMIT_NOFILE, (3, limits[1]))  # of those that are open none is closed
    api.names.append("second")
    api.end_connections()
    wait_for("the reconciler to say why", lambda: "Too many open files" in reconciler.text())
    assert reconciler.running() and not api.has_reconciled("second")

    resource.prlimit(reconciler.pid, resource.RLIMIT_NOFILE, limits)
    wait_for("the second TrainJob to be reconciled", lambda: api.has_reconciled("second"), timeout=60)
    assert reconciler.metric("signalbox_reconciles_total", 'result="exception"') == 0
    for body in api.changes:
        assert all(c["type"] not in ("Failed", "Complete") for c in body["status"].get("conditions", [])), body
    assert reconciler.stop() == []
