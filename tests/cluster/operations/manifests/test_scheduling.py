"""Signalbox's own Pods on nodes that only pretend to run them: overlays are installed, rolled out again and drained, by the real
scheduler and controllers, on clusters where some nodes do not accept every Pod."""

import json

import pytest

from deployment import NAMESPACE, ROOT
from rest import ApiError, Rest, wait_for
from schema_server import build

PROGRAMS = ("webhook", "reconciler")
TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
NODES = 4


@pytest.fixture
def rest(cluster):
    """A client. After the test, all nodes accept Pods again, and Signalbox is removed."""
    client = Rest(cluster.kubeconfig)
    yield client
    use_nodes(client, NODES)
    cluster.kubectl("delete", "-n", NAMESPACE, "deployments,poddisruptionbudgets", "--all")
    wait_for("the Pods to be deleted", lambda: not client.list("pods", NAMESPACE))


def use_nodes(rest, count):
    """Leaves the first `count` nodes usable, and taints the others."""
    for number in range(NODES):
        rest.patch("nodes", f"node-{number + 1}", {"spec": {"unschedulable": None, "taints": [TAINT] if number >= count else None}})


def install(cluster, rest, overlay):
    objects = [each for each in build(cluster, ROOT / "manifests" / "overlays" / overlay)
               if each["kind"] in ("Namespace", "ServiceAccount", "Deployment", "PodDisruptionBudget", "ResourceQuota")]
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    rolled_out(rest)


def rolled_out(rest):
    """Waits as `kubectl rollout status` does."""
    def is_rolled_out(program):
        found = rest.request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/signalbox-{program}")
        status = found.get("status", {})
        counts = {status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")}
        return status.get("observedGeneration", 0) >= found["metadata"]["generation"] and counts == {found["spec"]["replicas"]}
    for program in PROGRAMS:
        wait_for(f"{program} to be rolled out", lambda program=program: is_rolled_out(program), timeout=60)


def pods(rest, program):
    found = rest.list("pods", NAMESPACE, f"app.kubernetes.io/name=signalbox-{program}")
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def nodes_of(rest, program):
    """Returns the numbers of its Pods on the nodes that have any."""
    names = [pod["spec"].get("nodeName") for pod in pods(rest, program)]
    return sorted(names.count(name) for name in set(names))


def evict(rest, pod):
    meta = pod["metadata"]
    try:
        rest.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{meta['name']}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": meta["name"], "namespace": NAMESPACE}})
    except ApiError as refusal:
        if refusal.code == 429:  # the disruption budget denies it
            return False
        raise
    return True


def drain(rest, node):
    """Drains a node like kubectl: cordons it, and evicts its Pods until it is empty."""
    rest.patch("nodes", node, {"spec": {"unschedulable": True}})

    def is_empty():
        left = [pod for program in PROGRAMS for pod in pods(rest, program) if pod["spec"].get("nodeName") == node]
        return all([evict(rest, pod) for pod in left])
    wait_for(f"{node} to be empty", is_empty, timeout=60)


# More nodes than Pods would be easier, so the tests have few.
@pytest.mark.parametrize("overlay, usable", [("self-signed", 2), ("self-signed", 1), ("high-availability", 3), ("high-availability", 2),
                                             ("high-availability", 1), ("single-node", 1)])
def test_an_overlay_is_installed_rolled_out_and_drained_on_few_nodes(cluster, rest, overlay, usable):
    use_nodes(rest, usable)
    install(cluster, rest, overlay)
    cluster.kubectl("rollout", "restart", "-n", NAMESPACE, *(f"deployment/signalbox-{program}" for program in PROGRAMS))
    rolled_out(rest)
    if overlay == "high-availability":
        for program, replicas in (("webhook", 3), ("reconciler", 2)):
            wait_for("the former Pods to be deleted", lambda: len(pods(rest, program)) == replicas)
            counts = nodes_of(rest, program)
            assert len(counts) == min(usable, replicas) and max(counts) - min(counts) <= 1, "as even as possible"
    if usable > 1:
        for number in range(usable):
            drain(rest, f"node-{number + 1}")
            rolled_out(rest)
            rest.patch("nodes", f"node-{number + 1}", {"spec": {"unschedulable": None}})


@pytest.mark.parametrize("program", PROGRAMS)
def test_pods_that_are_not_ready_do_not_hold_up_a_drain(cluster, rest, program):
    install(cluster, rest, "self-signed")
    for pod in pods(rest, program):
        conditions = [{"type": kind, "status": "False"} for kind in ("Ready", "ContainersReady")]
        rest.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/status",
                     {"status": {"conditions": conditions}}, "application/strategic-merge-patch+json")

    def budget():
        return rest.request("GET", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/signalbox-{program}")["status"]
    wait_for("the budget to count the Pods", lambda: budget()["currentHealthy"] == 0)
    assert budget()["disruptionsAllowed"] == 0, "it counts ready Pods only"
    assert all([evict(rest, pod) for pod in pods(rest, program)])
