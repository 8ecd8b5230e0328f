"""Real nodes: what they need, how they stop, and that nothing of them is left on the machine."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
from controlplane.binaries import cache_directory
from controlplane.processes import start_time, still_running
from node import capabilities, cgroups
from node.cluster import RealCluster
from node.images import TRAINING
from rest import Rest, wait_for, wait_until_none

SCRIPT = """
import pathlib, signal, sys
sys.path.insert(0, sys.argv[2])
from node.cluster import RealCluster
plane = RealCluster(directory=pathlib.Path(sys.argv[1])).start()
(pathlib.Path(sys.argv[1]) / "started").touch()
signal.pause()
"""


def left():
    """Returns what a node can leave behind: cgroups, mounts, data, and processes of its programs."""
    mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    processes = [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if is_of_a_node(path)]
    return {*(f"cgroup {name}" for name in cgroups.names()), *(f"mount {path}" for path in mounts), *(f"process {pid}" for pid in processes),
            *(f"data {path.name}" for path in (cache_directory() / "nodes").glob("signalbox-node-*"))}


def is_of_a_node(path):
    try:
        words = path.read_bytes().split(b"\0")
    except OSError:
        return False
    programs = (b"kubelet", b"kube-proxy", b"containerd", b"containerd-shim-runc-v2")
    return os.path.basename(words[0]) in programs or words[:2] == [b"sleep", b"infinity"]


@pytest.fixture
def unchanged():
    before = left()
    yield
    wait_until_none("things that were not there before", lambda: left() - before, 20)


def pod(name, node):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": {
        "nodeName": node, "containers": [{"name": "only", "image": TRAINING, "command": ["sleep", "600"], "imagePullPolicy": "Never"}]}}


def test_nothing_is_left_of_nodes_that_were_stopped_while_a_pod_ran(unchanged):
    host = os.readlink("/proc/thread-self/ns/net")
    with RealCluster() as plane:
        assert os.readlink("/proc/thread-self/ns/net") != host
        rest = Rest(plane.kubeconfig)
        rest.create(pod("runs", "node-2"))
        wait_for("the Pod to run", lambda: rest.get("pods", "runs")["status"]["phase"] == "Running", 60)
        assert cgroups.names()
    assert os.readlink("/proc/thread-self/ns/net") == host


def test_nothing_is_left_of_nodes_whose_test_was_killed(unchanged, tmp_path):
    # The path of a socket has at most 107 bytes, and a folder of a user's may have more.
    folder = tmp_path / "a-long-name" / ("-" * 100)
    folder.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-B", "-c", SCRIPT, folder, HERE]) as test:
        try:
            wait_for("the nodes", lambda: (folder / "started").exists() or test.poll() is not None, 240)
            assert test.poll() is None and len(cgroups.names()) == 2
        finally:
            test.send_signal(signal.SIGKILL)


def test_the_next_nodes_remove_what_a_killed_keeper_has_left(tmp_path):
    leftover = f"signalbox-node-{os.getpid()}-1"  # a process of that id has not started at that time
    cgroups.create(leftover)
    (cache_directory() / "nodes" / leftover / "lib").mkdir(parents=True)
    with RealCluster():
        assert leftover not in cgroups.names() and not (cache_directory() / "nodes" / leftover).exists()


def test_a_machine_that_cannot_run_nodes_is_told_what_it_lacks(monkeypatch):
    assert capabilities.missing() == []
    monkeypatch.setattr(cgroups, "NEEDED", (*cgroups.NEEDED, "tea"))
    monkeypatch.setattr(cgroups, "NEEDED_OF_V2", (*cgroups.NEEDED_OF_V2, "tea"))
    monkeypatch.setattr(capabilities, "PROGRAMS", (*capabilities.PROGRAMS, "no-such-program"))
    with pytest.raises(RuntimeError, match="cannot run real nodes: no-such-program is not on the PATH.*no cgroup controller tea"):
        RealCluster().start()


def test_a_user_without_root_is_told_so(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert capabilities.missing() == ["real nodes need root: they make namespaces, mounts and cgroups"]


def test_a_user_reaches_real_nodes_from_outside_their_network(unchanged, tmp_path):
    environment = {**os.environ, "SIGNALBOX_CLUSTER": str(tmp_path / "cluster")}
    script = HERE.parents[1] / "scripts" / "cluster"
    try:
        subprocess.run([script, "up", "--real"], env=environment, check=True, capture_output=True)
        started = {int(pid): since for pid, since in json.loads((tmp_path / "cluster" / "pids.json").read_text()).items()}
        assert still_running(started) == started
        names = [node["metadata"]["name"] for node in Rest(tmp_path / "cluster" / "outside.kubeconfig").list("nodes")]
        assert names == ["node-1", "node-2"]
    finally:
        subprocess.run([script, "down"], env=environment, check=True, capture_output=True)
    assert all(start_time(pid) != since for pid, since in started.items())
