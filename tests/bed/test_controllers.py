"""The processes that the benchmarks measure: how a peer is started, what the kernel tells of a process, and how it is sampled."""

import os
import pathlib
import sys
import threading
import types

import pytest
from controlplane.processes import start_time
from paths import ROOT
from rest import wait_for

sys.path.insert(0, str(ROOT / "bench" / "support"))

import kernel
from controllers import Peer, count_reconciles
from kernel import age, forget_peak, resident
from sampler import Sampler
from testbed import shipped_arguments


def test_a_peer_is_the_process_that_its_command_names(tmp_path):
    # Not the shell, which would be a part of the figures.
    peer = Peer('echo "for $KUBECONFIG"; sleep 60 & echo pid $!; wait', "cluster.json", tmp_path / "log")
    try:
        assert pathlib.Path(f"/proc/{peer.pid}/comm").read_text() in ("sleep\n", "sh\n")  # before its exec, and after it
    finally:
        assert peer.stop() == []
    assert not pathlib.Path(f"/proc/{peer.pid}").exists()


RECONCILES = """\
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="clustertrainingruntime_controller",result="success"} 7
controller_runtime_reconcile_total{controller="trainjob_controller",result="error"} 2
controller_runtime_reconcile_total{controller="trainjob_controller",result="success"} 1.5e+01
controller_runtime_reconcile_errors_total{controller="trainjob_controller"} 2
"""


@pytest.mark.parametrize("metrics, want", [
    (RECONCILES, 17),
    ('signalbox_reconciles_total{result="done"} 40\nsignalbox_reconciles_total{result="failed"} 2\n', 42),
    ('controller_runtime_reconcile_total{controller="trainjob_controller",result="success"} 0\n', 0),
    ('go_goroutines 7\n', None),
])
def test_reconciles_of_train_jobs_are_read_from_the_metrics_of_a_controller(metrics, want):
    assert count_reconciles(metrics) == want


def test_reconciles_are_found_at_whichever_port_of_the_process_has_them(tmp_path):
    serve = """import http.server
for what in (b"metrics\\n", b'signalbox_reconciles_total{result="done"} 5\\n'):
    class Handler(http.server.BaseHTTPRequestHandler):
        body = what
        def do_GET(self):
            self.send_response(200); self.end_headers(); self.wfile.write(self.body)
        log_message = lambda *_: None
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    __import__("threading").Thread(target=server.serve_forever).start()
"""
    (tmp_path / "serve.py").write_text(serve)
    peer = Peer(f"{sys.executable} {tmp_path / 'serve.py'} & echo pid $!; wait", "cluster.json", tmp_path / "log")
    try:
        assert wait_for("its ports", lambda: len(peer.listening_ports()) == 2 and peer.reconciles(), interval=0.02) == 5
    finally:
        peer.stop()


def test_a_command_that_names_no_process_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match='ended with 3 without a line "pid N"'):
        Peer("echo pid; exit 3", "cluster.json", tmp_path / "log")


def test_a_peer_that_has_ended_by_itself_is_a_problem(tmp_path):
    peer = Peer("true & echo pid $!; wait; sleep 60", "cluster.json", tmp_path / "log")
    wait_for("its end", lambda: start_time(peer.pid) is None, interval=0.01)
    assert peer.stop() == ["the peer has ended by itself"]


class Fleeting:
    """A controller whose processes take this much CPU time; each ends when it is asked whether it runs."""

    def __init__(self, seconds, peak):
        self._seconds, self._peak, self.alive = seconds, peak, True

    def running(self):
        return self.alive

    def forget_peak(self):
        self._peak -= 100.0  # of an earlier span

    def cpu(self):
        if not self.alive:
            raise FileNotFoundError
        return self._seconds

    def memory(self):
        return 1.0, 1.0, self._peak


def test_a_controller_that_ends_is_started_again_and_all_its_processes_count():
    api = types.SimpleNamespace(request=lambda *_, **__: (0, "refused"))
    bed = types.SimpleNamespace(plane=types.SimpleNamespace(api=api))
    first, second = Fleeting(2.0, 130.0), Fleeting(0.5, 20.0)
    with Sampler(bed, first, lambda: second) as sampler:
        sampler.look_after()
        assert sampler.ends == 0
        first.alive = False
        sampler.look_after()
    assert (sampler.controller, sampler.ends, sampler.cpu(), sampler.peak) == (second, 1, 2.5, 30.0)


def test_a_span_without_a_controller_asks_the_api_server_as_often():
    asked = threading.Event()

    def request(*_, **__):
        asked.set()
        return 200, 'apiserver_current_inflight_requests{request_kind="readOnly"} 3\n'
    bed = types.SimpleNamespace(plane=types.SimpleNamespace(api=types.SimpleNamespace(request=request)))
    with Sampler(bed) as sampler:
        assert asked.wait(30)
    assert (sampler.in_flight, sampler.peak) == (3, 0)


@pytest.fixture
def clock(monkeypatch):
    """The time of kernel.py, which passes only as it sleeps."""
    now = types.SimpleNamespace(seconds=0.0)

    def sleep(seconds):
        now.seconds += seconds
    monkeypatch.setattr(kernel, "time", types.SimpleNamespace(monotonic=lambda: now.seconds, sleep=sleep))
    return now


def test_a_process_is_quiet_once_it_has_done_next_to_nothing_for_that_long(clock):
    kernel.wait_until_quiet("it", lambda: min(clock.seconds, 10), 0.01, 2, 60)
    assert clock.seconds == pytest.approx(12, abs=0.5)


def test_a_process_that_never_is_quiet_is_not_waited_for_for_ever(clock):
    with pytest.raises(AssertionError, match=r"after 60 s it is not quiet: 0.25 s of CPU time in the last 0.2 s, more than 0.02 s"):
        kernel.wait_until_quiet("it", lambda: clock.seconds, 0.01, 2, 60)
    assert clock.seconds < 61


def test_the_peak_of_the_memory_of_a_process_can_begin_anew():
    size = 64
    block = bytearray(size << 20)
    before = resident(os.getpid(), "VmHWM")
    del block
    forget_peak(os.getpid())
    assert resident(os.getpid(), "VmHWM") < before - size / 2


def test_memory_and_age_of_a_process_are_those_that_the_kernel_tells():
    assert 0 < resident(os.getpid(), "RssAnon") < resident(os.getpid())
    assert 0 < age(os.getpid()) < age(1)


def test_the_reconciler_is_measured_with_the_arguments_of_its_deployment():
    assert "--admin-listen=127.0.0.1:0" in shipped_arguments()
    assert not [argument for argument in shipped_arguments() if "8080" in argument or "log-level" in argument]
