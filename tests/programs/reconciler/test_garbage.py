"""signalbox-reconciler at an API server, or behind a proxy, that sends on its watches what no watch sends."""

import json
import os
import pathlib
import re
import select
import time

import pytest

from deployment import Program
from rest import wait_for
from scripted_api_server import ScriptedApiServer

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler"
MOST_TAKEN = 32 * 2**20  # bytes of something without an end: a line's 2 MiB, and what sockets hold
PIECE = b"x" * 65536


def train_job(name, version):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(version)},
            "spec": {"runtimeRef": {"name": "gone"}}}


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def line(value):
    return chunk(json.dumps(value).encode() + b"\n")


def modified(**members):
    return line({"type": "MODIFIED", "object": {**train_job("steady", 8), **members}})


WRONG_METADATA = {"name": "steady", "namespace": "default", "uid": 5, "resourceVersion": "8", "labels": [], "ownerReferences": "x",
                  "finalizers": {}, "deletionTimestamp": True, "creationTimestamp": []}

# Bytes behind a list. The reconciler ends the connection.
REFUSED = {
    "no JSON": chunk(b"\x00\xff{garbage\n"),
    "no event": line([1, "x"]),
    "an event of a wrong type": line({"type": 5, "object": {}}),
    "an event of an unknown type": line({"type": "ENLARGED", "object": train_job("steady", 8)}),
    "an object without metadata": line({"type": "DELETED", "object": {"metadata": "x"}}),
    "an object without a name": line({"type": "DELETED", "object": {"metadata": {"resourceVersion": "8"}}}),
    "an object in very many lists": chunk(b"[" * 200_000 + b"\n"),
    "an error of wrong types": line({"type": "ERROR", "object": {"code": "x", "message": [], "details": 5}}),
    "a chunk of no size": b"zz\r\n{}\r\n",
}
# The same, repeated until the reconciler ends the connection.
ENDLESS = {"a line without an end": (b"", chunk(PIECE)), "a chunk's header without an end": (b"1;", PIECE)}
# The server ends the connection.
CUT = {
    "an event that is cut off": b'1000\r\n{"type":"DELETED","object":{"metadata":{"na',
    "metadata of wrong types": modified(metadata=WRONG_METADATA),
    "a TrainJob of wrong types": modified(spec="x", status={"conditions": {"type": "Failed"}}),
    "limits of wrong types": modified(spec={"runtimeRef": [], "suspend": "no", "runPolicy": {"activeDeadlineSeconds": "soon"}},
                                      status={"conditions": [5, {"type": "Complete", "status": True}], "startTime": 7}),
}
ALL = [*REFUSED, *ENDLESS, *CUT]


class ApiServer(ScriptedApiServer):
    """Has one TrainJob. Its watches of TrainJobs send garbage of one kind after the other, and at last another TrainJob."""

    def __init__(self):
        super().__init__()
        self.waiting = list(ALL)
        self.sent = []
        self.taken = {}  # bytes, by kind
        self.lease = None
        self.changes = []  # requests that write, except those for the lease and events
        self.seen = []  # paths

    def answer(self, request, url, body):
        self.seen.append(url.path)
        if "watch=" in url.query:
            return self.garble(request, url) if url.path.endswith("/trainjobs") else self.watch(request)
        if "/leases" in url.path:
            if body:
                self.lease = json.loads(body) | {"metadata": {"resourceVersion": str(time.monotonic_ns())}}
            if self.lease:
                return self.send(request, 200, self.lease)
        elif request.command != "GET" and "/events" not in url.path:
            self.changes.append((request.command, url.path, body))
        if found := re.search(r"/trainjobs/(\w+)", url.path):
            return self.send(request, 200, train_job(found[1], 8))
        self.send(request, 404, {"kind": "Status", "code": 404, "message": "there is nothing"})

    def garble(self, request, url):
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.close_connection = True
        if "sendInitialEvents" in url.query:
            request.wfile.write(line({"type": "ADDED", "object": train_job("steady", 5)}) + line(
                {"type": "BOOKMARK", "object": {"metadata": {
                    "resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}}))
        if not self.waiting:
            request.wfile.write(line({"type": "ADDED", "object": train_job("later", 9)}))
            return self.ended.wait()
        # A good event first, so that the next watch is not long in coming.
        request.wfile.write(modified())
        kind = self.waiting.pop(0)
        first, again = ENDLESS.get(kind, (REFUSED.get(kind) or CUT.get(kind), b""))
        taken = 0
        try:
            request.wfile.write(first)
            while again and taken < 4 * MOST_TAKEN:
                request.wfile.write(again)
                taken += len(again)
        except OSError:
            pass  # the reconciler has had enough
        self.taken[kind] = taken
        if kind in REFUSED:
            readable, _, _ = select.select([request.connection], [], [], 60)
            self.taken[kind] = 0 if readable else MOST_TAKEN
        self.sent.append(kind)


@pytest.fixture
def api():
    with ApiServer() as server:
        yield server


def test_garbage_on_a_watch_ends_that_watch_alone(api, tmp_path):
    kubeconfig = api.kubeconfig(tmp_path)
    reconciler = Program(BINARY, tmp_path / "log", ["--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0"])
    wait_for("all garbage to be sent", lambda: len(api.sent) == len(ALL), timeout=120)
    wait_for("the TrainJob behind it to be reconciled", lambda: any(path.endswith("/trainjobs/later") for path in api.seen))
    assert [kind for kind, taken in api.taken.items() if taken >= MOST_TAKEN] == []
    assert reconciler.metric("signalbox_reconciles_total", 'result="exception"') == 0
    for command, path, body in api.changes:
        assert command == "PATCH" and path.endswith("/status"), f"{command} {path}"
        ends = [c for c in json.loads(body)["status"].get("conditions", []) if c["type"] in ("Failed", "Complete")]
        assert all(c["status"] != "True" for c in ends), body
    assert reconciler.stop() == []
