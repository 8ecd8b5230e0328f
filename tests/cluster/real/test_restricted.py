"""Programs in a namespace with Pod Security `restricted`, a quota and a LimitRange, as user 1000: with the runtimes of
manifests/runtimes-restricted. And one node that trains where no name can be looked up."""

import copy

import pytest
import yaml

from node.training import adapted, pod_specs, train_job
from paths import ROOT
from rest import true_conditions, wait_for

SECONDS = 240
NAMESPACE = "restricted"
# Who it is, and what it may do.
WHOAMI = """echo "user $(id -u):$(id -g) in $HOME of $USER"
grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
touch "$HOME/own" && echo "writes at home"
touch /own 2>/dev/null || echo "does not write in the folder of root"
"""
# A DNS server that refuses at once: nobody listens there.
NO_DNS = {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["127.0.0.1"]}}


def jobs():
    return [
        train_job("whoami", "plain", ["sh", "-c", WHOAMI]),
        train_job("torch", "torch-distributed", ["torchrun", "/workspace/torch_train.py"], 2, {"numProcPerNode": 2}),
        train_job("grouped", "deepspeed-distributed", ["mpirun", "python3", "/workspace/mpi_sum.py"], 2, {"numProcPerNode": 2}),
        train_job("groupless", "without-group", ["mpirun", "python3", "/workspace/mpi_sum.py"], 2, {"numProcPerNode": 2}),
        train_job("alone", "without-dns", ["torchrun", "/workspace/torch_train.py"], 1, {"numProcPerNode": 2}),
        train_job("named", "without-dns-by-name", ["torchrun", "/workspace/torch_train.py"], 1, {"numProcPerNode": 2}),
    ]


def runtimes_here(cluster):
    shipped = {each["metadata"]["name"]: each
               for each in yaml.safe_load_all(cluster.kubectl("kustomize", ROOT / "manifests" / "runtimes-restricted"))}
    made = {name: adapted(shipped[name], name) for name in ("plain", "torch-distributed", "deepspeed-distributed")}
    made["without-group"] = copy.deepcopy(made["deepspeed-distributed"])
    for pod in pod_specs(made["without-group"]):
        del pod["securityContext"]["fsGroup"]
    made["without-dns"] = copy.deepcopy(made["torch-distributed"])
    for pod in pod_specs(made["without-dns"]):
        pod |= NO_DNS
    made["without-dns-by-name"] = copy.deepcopy(made["without-dns"])
    del made["without-dns-by-name"]["spec"]["mlPolicy"]["torch"]["singleNodeAddress"]
    for name, runtime in made.items():
        runtime["metadata"] = {"name": name, "namespace": NAMESPACE, "labels": runtime["metadata"]["labels"]}
        runtime["kind"] = "TrainingRuntime"
    return made.values()


@pytest.fixture(scope="module")
def restricted(cluster, runtimes, admin):
    """The jobs run side by side."""
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    wait_for("the service account", lambda: admin.get("serviceaccounts", "default", NAMESPACE))
    programs = admin.get("configmaps", "programs")["data"]
    admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "programs", "namespace": NAMESPACE}, "data": programs})
    admin.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": NAMESPACE}, "spec": {"limits": [{
        "type": "Container", "defaultRequest": {"cpu": "10m", "memory": "64Mi"}, "default": {"cpu": "2", "memory": "2Gi"}}]}})
    admin.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "compute", "namespace": NAMESPACE}, "spec": {"hard": {
        "requests.cpu": "2", "requests.memory": "2Gi", "limits.cpu": "40", "limits.memory": "40Gi"}}})
    for runtime in runtimes_here(cluster):
        admin.create(runtime)
    for job in jobs():
        job["metadata"]["namespace"] = NAMESPACE
        job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
        admin.create(job)
    yield
    admin.delete("namespaces", NAMESPACE)


@pytest.fixture(scope="module")
def logs_of(restricted, admin, plugin):
    """Returns the logs of a job that has completed."""
    def read(name):
        def end():
            return true_conditions(admin.get("trainjobs", name, NAMESPACE)).keys() & {"Complete", "Failed"}
        ended = wait_for(f"the end of {name}", end, SECONDS)
        logs = plugin("logs", name, "-n", NAMESPACE)
        assert ended == {"Complete"}, logs
        return logs
    return read


def test_a_program_runs_as_a_user_without_rights_and_writes_at_home_alone(logs_of):
    logs = logs_of("whoami")
    assert "user 1000:1000 in /tmp of trainer" in logs and "writes at home" in logs
    assert "does not write in the folder of root" in logs
    shown = dict(line.split()[-2:] for line in logs.splitlines() if ":\t" in line)
    assert shown == {"CapBnd:": "0" * 16, "NoNewPrivs:": "1", "Seccomp:": "2"}


def test_torchrun_trains_there(logs_of):
    logs = logs_of("torch")
    assert [f"rank {rank}: the loss fell" in logs for rank in range(4)] == [True] * 4


@pytest.mark.parametrize("name", ["grouped", "groupless"])
def test_mpirun_reads_its_keys_as_another_user_than_root(logs_of, admin, name):
    """With fsGroup they are the group's, without it everybody's."""
    assert logs_of(name).count("the sum is 10") == 4
    (volume,) = {volume["secret"]["items"][0]["mode"] for pod in admin.list("pods", NAMESPACE, f"jobset.sigs.k8s.io/jobset-name={name}")
                 for volume in pod["spec"]["volumes"] if volume["name"] == "mpi-ssh-auth"}
    assert volume == {"grouped": 0o600, "groupless": 0o444}[name]


def test_one_node_trains_where_no_name_can_be_looked_up(logs_of, admin, plugin):
    logs = logs_of("alone")
    assert "rank 0: the loss fell" in logs and "rank 1: the loss fell" in logs
    # By its name it asks the DNS, for ten minutes, and then fails.
    asked = wait_for("it to ask for its name", lambda: "cannot be retrieved" in (said := plugin("logs", "named", "-n", NAMESPACE)) and said, SECONDS)
    assert "rank 0" not in asked, asked
    assert not true_conditions(admin.get("trainjobs", "named", NAMESPACE)).keys() & {"Complete", "Failed"}
