"""Jobs whose Pods have the network of their node, as drivers of fast networks want it: two on one node share its ports. The scheduler of the
control plane keeps Pods apart that declare the same one."""

import json

import pytest

from jobs import runtime, train_job
from progress import pods, running_pods
from rest import wait_for

TOLD_BY = {"torch": "PET_MASTER_PORT", "jax": "JAX_COORDINATOR_ADDRESS", "xgboost": "DMLC_TRACKER_PORT"}
NODES = {"torch": "node-1", "jax": "node-2", "xgboost": "node-3", "mpi": "node-4"}


def on_node(name, framework, policy=None, **container):
    """Returns a runtime whose Pods have the network of one node."""
    made = runtime(name, ml_policy={"numNodes": 1, framework: policy or {}})
    pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet", "nodeSelector": {"kubernetes.io/hostname": NODES[framework]}}
    pod["containers"][0] |= container
    return made


def port_of(namespace, name):
    """Returns the port of a TrainJob, by the rule of docs/plugins.md: FNV-1a of 64 bits."""
    found = 0xcbf29ce484222325
    for byte in f"{namespace}/{name}".encode():
        found = (found ^ byte) * 0x100000001b3 % 2**64
    return 20000 + found % 9000


def another(namespace, name):
    """Returns a name whose job has another port."""
    return next(other for other in ("second", "third") if port_of(namespace, other) != port_of(namespace, name))


def pod_of(rest, name):
    return wait_for(f"the running Pod of {name}", lambda: next(iter(running_pods(rest, name)), None))


@pytest.mark.together
@pytest.mark.parametrize("framework", TOLD_BY)
def test_two_jobs_run_on_one_node_each_with_a_port_of_its_own(signalbox, rest, framework):
    # Runtimes that were made for the original declare the usual port.
    rest.create(on_node(f"on-node-{framework}", framework, ports=[{"containerPort": 29500}]))
    names = ("first", another(rest.namespace, "first"))
    for name in names:
        rest.create(train_job(name, f"on-node-{framework}", seconds="never"))
    for name in names:
        pod = pod_of(rest, name)
        assert pod["spec"]["nodeName"] == NODES[framework]
        (container,) = pod["spec"]["containers"]
        (port,) = container["ports"]
        assert port["containerPort"] == port["hostPort"] == port_of(rest.namespace, name)
        told = next(each["value"] for each in container["env"] if each["name"] == TOLD_BY[framework])
        assert told.rpartition(":")[2] == str(port["hostPort"])


@pytest.mark.together
def test_nodes_of_mpi_wait_for_another_node_where_the_runtime_names_the_port_of_sshd(signalbox, rest, kubectl):
    nameless = on_node("on-node-nameless", "mpi")
    with pytest.raises(RuntimeError, match="Warning: job node: with hostNetwork, add the port of sshd to the ports of its container"):
        kubectl("create", "--dry-run=server", "--warnings-as-errors", "-f", "-", input=json.dumps(nameless))
    rest.create(on_node("on-node-mpi", "mpi", ports=[{"containerPort": 2222}]))
    rest.create(train_job("first", "on-node-mpi", seconds="never"))
    pod_of(rest, "first")
    rest.create(train_job("second", "on-node-mpi", seconds="never"))

    def refusal():
        return next((condition["message"] for pod in pods(rest, "second") for condition in pod["status"].get("conditions", [])
                     if condition["type"] == "PodScheduled" and condition["status"] == "False"), None)
    assert "free ports" in wait_for("the scheduler's answer", refusal)
    rest.delete("trainjobs", "first")
    assert pod_of(rest, "second")["spec"]["nodeName"] == NODES["mpi"]
