"""`kubectl trainjob logs` through the real API server. It asks the nodes for the output of containers; kwok's server answers in place of
their kubelets."""

import json
import os
import pathlib
import subprocess

import pytest

from controlplane.ports import free_ports
from controlplane.processes import Process, stop
from jobs import runtime, train_job
from progress import running_pods
from rest import wait_for

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
LINES = ("epoch 1", "epoch 2", "epoch 3")


@pytest.fixture
def kubelets(cluster, admin, namespace, tmp_path):
    """Lets the nodes answer with the same output for each container of the test's namespace. Returns the file with the output."""
    output, config = tmp_path / "output.log", tmp_path / "logs.yaml"
    output.write_text("".join(f"2026-01-15T12:00:0{number}.000000000Z stdout F {line}\n" for number, line in enumerate(LINES)))
    config.write_text(json.dumps({
        "apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs", "metadata": {"name": "output"},
        "spec": {"selector": {"matchNamespaces": [namespace]}, "logs": [{"logsFile": str(output), "follow": True}]}}))
    (port,) = free_ports(1)
    certificate, key = cluster.authority.issue("kubelet", "kubelet", hosts=["127.0.0.1"])
    # It manages no node, and yet does not start without stages.
    stages = [cluster.programs / "kwok-stages" / path for path in ("node/fast/node-initialize.yaml", "pod/fast/pod-ready.yaml")]
    server = Process("kubelets", [
        cluster.programs / "kwok", "--kubeconfig", cluster.user_kubeconfig("kubelets", "test-kubelets", "system:masters"),
        "--manage-all-nodes=false", "--manage-nodes-with-label-selector=signalbox.test/managed=here",
        "--server-address", f"127.0.0.1:{port}", "--tls-cert-file", certificate, "--tls-private-key-file", key,
        *(word for file in (config, *stages) for word in ("--config", file))], tmp_path / "kubelets.log")
    try:
        for node in admin.list("nodes"):
            admin.patch("nodes", node["metadata"]["name"], subresource="status", change={"status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}})
        yield output
    finally:
        stop([server])


@pytest.fixture
def training(signalbox, rest, kubelets):
    rest.create(runtime())
    rest.create(train_job("training", nodes=2, seconds="never"))
    wait_for("two Pods", lambda: len(running_pods(rest, "training")) == 2)


def test_the_output_of_all_pods_is_printed_in_the_order_of_its_times(training, user):
    viewer = user("view")
    done = wait_for("the nodes to answer", lambda: (said := viewer("logs", "training")).returncode == 0 and said)
    assert done.stdout.splitlines() == [f"node-0-{node} | {line}" for line in LINES for node in range(2)]
    assert viewer("logs", "training", "--node", "1").stdout.splitlines() == list(LINES)


def test_followed_output_comes_as_it_is_written_until_the_job_ends(training, kubelets, rest, kubeconfig, tmp_path):
    said = tmp_path / "said"
    with said.open("w") as file:
        following = subprocess.Popen([PROGRAM, "logs", "training", "--follow"], stdin=subprocess.DEVNULL, stdout=file,
                                     stderr=subprocess.STDOUT, env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    try:
        wait_for("the first lines", lambda: all(said.read_text().count(line) == 2 for line in LINES))
        with kubelets.open("a") as output:
            output.write("2026-01-15T12:00:09.000000000Z stdout F the last epoch\n")
        wait_for("the new line", lambda: said.read_text().count("the last epoch") == 2)
        rest.delete("trainjobs", "training")
        assert following.wait(60) == 0
    finally:
        following.kill()
        following.wait()
