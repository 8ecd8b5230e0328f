"""A kubelet is restarted, and a node is drained: what becomes of training, and of our own Pods."""

import pytest

from node.installed import DEPLOYMENTS, SYSTEM, Creations, ready_pods
from node.training import train_job
from rest import wait_for

SECONDS = 120
# Ends when it is told to.
OBEDIENT = ["sh", "-c", "trap 'exit 143' TERM; echo begins on $(hostname); sleep 600 & wait"]


def uids(pods):
    return {pod["metadata"]["uid"] for pod in pods}


def test_programs_go_on_while_their_kubelet_is_restarted(runtimes, cluster, admin, attempt, plugin, state_of, pods_of):
    admin.create(train_job("steady", "plain", OBEDIENT, 2))
    plugin("wait", "steady", "--for=running", f"--timeout={SECONDS}s", "--interval=200ms")
    before = uids(pods_of("steady"))
    cluster.kill_kubelet("node-2")
    states = set()

    def has_logs():
        states.add(state_of("steady"))
        status, output, _ = attempt("logs", "steady")
        return status == 0 and output
    output = wait_for("the output of both Pods", has_logs, SECONDS)
    assert "node-0-0 | begins on steady-node-0-0" in output and "node-0-1 | begins on steady-node-0-1" in output
    assert states == {"running"} and uids(pods_of("steady")) == before
    assert [status["restartCount"] for pod in pods_of("steady") for status in pod["status"]["containerStatuses"]] == [0, 0]


@pytest.fixture
def drained(cluster):
    """Drains node 2. Afterwards it takes Pods again."""
    def drain():
        cluster.kubectl("drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={SECONDS}s")
    yield drain
    cluster.kubectl("uncordon", "node-2")


def test_training_and_our_own_pods_leave_a_node_that_is_drained(runtimes, cluster, admin, plugin, state_of, pods_of, drained):
    admin.create(train_job("moves", "plain", OBEDIENT, 2))
    plugin("wait", "moves", "--for=running", f"--timeout={SECONDS}s", "--interval=200ms")
    before = uids(pods_of("moves"))
    assert ready_pods(admin, "node-2"), "none of our Pods is there, so nothing is shown"
    with Creations(admin) as creations:
        drained()
        for name in DEPLOYMENTS:
            cluster.kubectl("-n", SYSTEM, "rollout", "status", f"deployment/{name}", f"--timeout={SECONDS}s")
    assert creations.refusals == [] and creations.count > 10
    assert len(ready_pods(admin, "node-1")) == len(ready_pods(admin)) == 6
    # An evicted Pod has not failed. Another one takes its place.
    plugin("wait", "moves", "--for=running", f"--timeout={SECONDS}s", "--interval=200ms")
    wait_for("both Pods", lambda: [pod["spec"].get("nodeName") for pod in pods_of("moves")] == ["node-1"] * 2, SECONDS)
    assert uids(pods_of("moves")) - before
    assert state_of("moves") == "running"
