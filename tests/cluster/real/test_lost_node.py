"""A machine loses its power while a job trains on it under a failure policy. The cloud removes its Node; nothing is done by hand."""

import pytest

from node.training import train_job
from rest import wait_for

SECONDS = 300


@pytest.fixture
def nodes_of(pods_of):
    """Returns the nodes of a job's Pods, by the Pod's UID."""
    return lambda name: {pod["metadata"]["uid"]: pod["spec"].get("nodeName") for pod in pods_of(name)}


@pytest.mark.long
def test_a_job_goes_on_elsewhere_and_the_loss_of_its_node_does_not_count(retrying, cluster, admin, plugin, state_of, nodes_of):
    retrying("insured", {"maxRestarts": 0, "backoff": {"initialSeconds": 1}})
    admin.create(train_job("survivor", "insured", ["sleep", "600"], 2))
    plugin("wait", "survivor", "--for=running", f"--timeout={SECONDS}s", "--interval=200ms")
    before = nodes_of("survivor")
    assert sorted(before.values()) == ["node-1", "node-2"]
    cluster.lose("node-2")
    states = set()

    def has_moved():
        states.add(state_of("survivor"))
        now = nodes_of("survivor")
        return list(now.values()) == ["node-1"] * 2 and not set(now) & set(before)
    wait_for("an attempt on the other node", has_moved, SECONDS)
    assert states <= {"waits for its Pods", "running", "restarting, attempt 1"}, states
    status = admin.get("trainjobs", "survivor")["status"]
    assert status["restarts"] == 1 and not status.get("restartsCountTowardsMax")
    [only] = status["failures"]
    assert [only[name] for name in ("attempt", "decision", "rule")] == [0, "RestartUncounted", -2], only
    assert "a Pod was disrupted: its node was drained, tainted or lost" in plugin("explain", "survivor")
