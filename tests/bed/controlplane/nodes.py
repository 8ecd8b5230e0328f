"""Nodes that only pretend to run pods, by kwok. ../config/pod-complete.yaml has the rules by which pods end there."""

import pathlib

_COMPLETION = pathlib.Path(__file__).resolve().parents[1] / "config" / "pod-complete.yaml"
_ROOM = {"cpu": "64", "memory": "512Gi", "pods": "500", "nvidia.com/gpu": "8"}


def start(plane):
    """Registers plane.nodes nodes and starts kwok in place of their kubelets. Needs a running API server."""
    for number in range(plane.nodes):
        plane.api.create("/api/v1/nodes", _node(f"node-{number + 1}"))
    stages = plane.programs / "kwok-stages"
    configs = [stages / "node/fast/node-initialize.yaml", stages / "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
               stages / "pod/fast/pod-ready.yaml", stages / "pod/fast/pod-delete.yaml", _COMPLETION]
    plane.launch(
        "kwok", "--kubeconfig", plane.user_kubeconfig("nodes", "test-nodes", "system:masters"),
        "--manage-all-nodes", "--node-ip", "127.0.0.1", "--node-lease-duration-seconds", "40",
        "--cidr", "10.64.0.1/10",  # of pods; all nodes share it
        *(word for config in configs for word in ("--config", config)))


def ready(plane):
    """Returns whether pods can be scheduled on all of them: a node is tainted until the controllers have seen it ready."""
    nodes = plane.api.get("/api/v1/nodes").get("items", [])
    return len(nodes) == plane.nodes and all(_is_ready(node) and not node["spec"].get("taints") for node in nodes)


def _is_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def _node(name):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {"allocatable": _ROOM, "capacity": _ROOM},
    }
