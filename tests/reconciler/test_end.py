"""How signalbox-reconciler ends while a pass hangs: against an API server that answers everything but passes."""

import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
from rest import wait_for  # noqa: E402

BINARY = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "signalbox-reconciler"
TRAIN_JOB = {"metadata": {"name": "stuck", "namespace": "default", "uid": "u", "resourceVersion": "5"},
             "spec": {"runtimeRef": {"name": "gone"}}}


class ApiServer:
    """One TrainJob, one lease, and silence for every other request. A context manager."""

    def __init__(self):
        self.lease = None
        self.hanging = []  # requests of passes
        self._end = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                outer._answer(self)
            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # clients may go when they like

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if "watch=" in url.query:
            return self._watch(request, [TRAIN_JOB] if url.path.endswith("/trainjobs") else [])
        if "/leases" in url.path:
            if body:
                self.lease = json.loads(body)
                self.lease["metadata"]["resourceVersion"] = str(time.monotonic_ns())
            if self.lease:
                return self._send(request, 200, self.lease)
            return self._send(request, 404, {"kind": "Status", "code": 404, "message": "no lease"})
        self.hanging.append(f"{request.command} {url.path}")
        self._end.wait()

    def _watch(self, request, objects):
        events = [{"type": "ADDED", "object": o} for o in objects]
        events.append({"type": "BOOKMARK", "object": {"metadata": {
            "resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}})
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        request.wfile.write(b"%x\r\n%s\r\n" % (len(lines), lines))
        request.wfile.flush()
        self._end.wait()
        request.close_connection = True

    @staticmethod
    def _send(request, status, body):
        text = json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)


@pytest.fixture
def api():
    with ApiServer() as server:
        yield server


@pytest.fixture
def reconciler(api, tmp_path):
    """One whose only pass waits for an answer."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "namespace": "mine"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.port}"}}]}))
    log = tmp_path / "log"
    with open(log, "wb") as file:
        process = subprocess.Popen([BINARY, "--kubeconfig", kubeconfig, "--admin-listen", "127.0.0.1:0"], stderr=file)
    process.logged = lambda: [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    try:
        wait_for("a pass to hang", lambda: api.hanging)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_the_namespace_of_a_kubeconfig_is_not_where_the_lease_is(api, reconciler):
    assert api.lease["metadata"]["namespace"] == "kubeflow-system"


def messages(process):
    return [line["msg"] for line in process.logged()]


def test_a_second_signal_ends_it_at_once_and_says_so(reconciler):
    reconciler.send_signal(signal.SIGTERM)
    wait_for("the first to be heard", lambda: "stopping" in messages(reconciler))
    assert reconciler.poll() is None
    reconciler.send_signal(signal.SIGINT)
    assert reconciler.wait(timeout=2) == 1
    assert messages(reconciler)[-1] == "a second signal: ending at once"


def test_a_pass_that_hangs_is_cut_and_the_lease_given_back_well_within_30_seconds(api, reconciler):
    assert api.lease["spec"]["holderIdentity"]
    started = time.monotonic()
    reconciler.send_signal(signal.SIGTERM)
    assert reconciler.wait(timeout=30) == 0
    assert 19 < time.monotonic() - started < 25
    assert not api.lease["spec"].get("holderIdentity")
    assert "passes did not end in time; they were cut" in messages(reconciler)
