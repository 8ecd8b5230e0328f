"""Every runtime of manifests/runtimes, with each gang policy, with initializers and without: the JobSet controller's own webhook
accepts the JobSet, the Pods are created, and every variable can be resolved as a kubelet does it. test_launchers.py passes the
variables to the frameworks' own launchers. It has no Flux, so Flux's files are compared with its manual here."""

import json
import re
import tomllib

import pytest

from acceptance import CASES, SHIPPED, Case, address, container, expected_pods, replicated_jobs, users
from gangs import path_of_pod_group
from kubelet import Kubelet
from progress import has_begun
from rest import conditions

every_case = pytest.mark.parametrize("case", CASES, ids=str)


# The JobSet and its gang ---------------------------------------------------------------------------------------------------

@every_case
def test_the_job_sets_own_webhook_accepts_it(accepted, admin, case):
    train_job = admin.get("trainjobs", case.job, case.namespace)
    assert has_begun(train_job) and conditions(train_job).get("Created", {"status": "True"})["status"] == "True"
    job_set = admin.get("jobsets", case.job, case.namespace)
    assert [job["name"] for job in job_set["spec"]["replicatedJobs"]] == replicated_jobs(case.runtime)
    # Only that webhook sets the field, Signalbox never does.
    assert {job["template"]["spec"]["completionMode"] for job in job_set["spec"]["replicatedJobs"]} == {"Indexed"}


@every_case
def test_the_gang_is_what_can_start_together(accepted, admin, case):
    marked = [name for name, several in accepted[case].items() for pod in several
              if pod["metadata"].get("labels", {}).get("scheduling.x-k8s.io/pod-group") == case.job
              or pod["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name") == case.job]
    if not case.policy:
        assert marked == []
        return
    # The launcher waits until the nodes are ready: the scheduler keeps room for it, and does not wait for it.
    members, followers = expected_pods(case)["node"], expected_pods(case).get("launcher", 0)
    assert marked == ["node"] * members + ["launcher"] * followers
    group = admin.request("GET", path_of_pod_group(case.policy, case.job, case.namespace))["spec"]
    assert group["minMember"] == members
    assert group["minResources"]["cpu"] == f"{1500 * len(marked)}m".replace("3000m", "3")


# The environment of the Pods ------------------------------------------------------------------------------------------------

TORCH = {"PET_NNODES": "{nodes}", "PET_NODE_RANK": "{rank}", "PET_NPROC_PER_NODE": "{processes}",
         "PET_MASTER_ADDR": "{job}-node-0-0.{job}", "PET_MASTER_PORT": "29500"}
# MCA parameters of Open MPI 4 as variables: https://www.open-mpi.org/faq/?category=tuning#setting-mca-params
OPEN_MPI = {
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_set_default_slots": "1", "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"}
# runtime: the job whose container "node" gets variables of the framework, and these variables
FRAMEWORK_VARIABLES = {
    "plain": ("node", {}),
    "torch-distributed": ("node", TORCH),
    "jax-distributed": ("node", {"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "{rank}",
                                 "JAX_COORDINATOR_ADDRESS": "{job}-node-0-0.{job}:29500"}),
    "xgboost-distributed": ("node", {"DMLC_NUM_WORKER": "2", "DMLC_TASK_ID": "{rank}",
                                     "DMLC_TRACKER_URI": "{job}-node-0-0.{job}", "DMLC_TRACKER_PORT": "29500"}),
    "flux-distributed": ("node", {}),
    "deepspeed-distributed": ("launcher", OPEN_MPI),
    "mlx-distributed": ("launcher", OPEN_MPI),
    # The only node finds itself without DNS, and its user, whom the image does not know, has a name and a folder.
    **{name: ("node", {**TORCH, "PET_MASTER_ADDR": "127.0.0.1", "HOME": "/tmp", "USER": "trainer"})
       for name in SHIPPED if name.startswith("torchtune-")},
}


def framework_variables(case, name, rank):
    job, variables = FRAMEWORK_VARIABLES[case.runtime]
    if name != job:
        return {}
    one_node = case.runtime.startswith("torchtune-")
    values = {key: value.format(job=case.job, rank=rank, nodes=1 if one_node else 2, processes="auto" if one_node else 2)
              for key, value in variables.items()}
    # torchtune gets the master's address on its command line.
    return {key: value for key, value in values.items() if not (case.initializes and key.startswith("PET_MASTER"))}


def fetched(case, name):
    """Returns the values for an initializer: the TrainJob's, else the runtime's."""
    template = next(job for job in SHIPPED[case.runtime]["spec"]["template"]["spec"]["replicatedJobs"] if job["name"] == name)
    if not case.initializes:
        return {given["name"]: given["value"] for given in template["template"]["spec"]["template"]["spec"]["containers"][0]["env"]}
    own = {"dataset-initializer": {"STORAGE_URI": "hf://team/questions", "SPLIT": "train"},
           "model-initializer": {"STORAGE_URI": "hf://team/base"}}
    return {"HF_TOKEN": "s3cret", "HOME": "/tmp", **own[name]}


@every_case
def test_every_variable_of_every_container_can_be_resolved(accepted, admin, case):
    kubelet = Kubelet(admin, case.namespace)
    for name, several in accepted[case].items():
        for rank, pod in enumerate(several):
            for each in pod["spec"]["containers"]:
                found = kubelet.environment(pod, each)
                assert found.pop("JOB_COMPLETION_INDEX") == str(rank)  # set by the Job controller
                if name.endswith("-initializer"):
                    assert found == fetched(case, name)
                else:
                    assert found == {**users(pod, case.job), **framework_variables(case, name, rank)}
            for each in pod["spec"].get("initContainers", []):
                assert set(kubelet.environment(pod, each)) <= {"JOB_COMPLETION_INDEX"}


@every_case
def test_addresses_of_nodes_are_those_of_pods_and_have_open_ports(accepted, admin, case):
    job, _ = FRAMEWORK_VARIABLES[case.runtime]
    first = accepted[case][job][0]
    values = Kubelet(admin, case.namespace).environment(first, container(first)).values()
    hosts = {match[0] for value in values for match in re.finditer(r"[a-z0-9-]+-node-0-0\.[a-z0-9-]+", value)}
    assert hosts <= {address(first)}
    if hosts:
        assert [port["containerPort"] for port in container(first)["ports"]] == [29500]


# Flux's files ---------------------------------------------------------------------------------------------------------------

# The keys that Flux reads, by its manual: doc/man5 of github.com/flux-framework/flux-core, flux-config-access.rst at 6fd7fc8,
# -archive.rst at 1ae6702, -bootstrap.rst at 172f136, -resource.rst at 01aed6c; and of flux-framework/flux-sched,
# flux-config-sched-fluxion-qmanager.rst at f8f2064.
FLUX_KEYS = {
    "access": {"allow-guest-user", "allow-root-owner", "private-mode"},
    "archive": {"dbpath", "period", "busytimeout"},
    "bootstrap": {"enable_ipv6", "curve_cert", "default_port", "default_bind", "default_connect", "hosts"},
    "resource": {"path", "config", "scheduling", "exclude", "norestrict", "noverify", "rediscover", "reserve"},
    "sched-fluxion-qmanager": {"queue-policy"},
}


def hosts_of(text):
    """Expands the part of Flux's RFC 29 that is used: name[first-last]."""
    name, numbers = re.fullmatch(r"([^\[]+)\[([0-9-]+)\]", text).groups()
    first, _, last = numbers.partition("-")
    return [f"{name}{number}" for number in range(int(first), int(last or first) + 1)]


def test_flux_brokers_are_the_nodes_and_reach_each_other_by_name(accepted, admin):
    case = Case("flux-distributed", None, False)
    nodes = accepted[case]["node"]
    kubelet = Kubelet(admin, case.namespace)
    (each,) = {json.dumps(kubelet.files(node, container(node)), sort_keys=True) for node in nodes}
    files = json.loads(each)
    broker = tomllib.loads(files["/etc/flux-config/broker.toml"][1])
    assert {table: set(keys) - FLUX_KEYS[table] for table, keys in broker.items()} == {table: set() for table in broker}

    # A broker's rank is the position of its host name in the list. Brokers reach it by the DNS name of its Pod.
    bootstrap = broker["bootstrap"]
    (entry,) = bootstrap["hosts"]
    assert hosts_of(entry["host"]) == [node["spec"]["hostname"] for node in nodes]
    assert [bootstrap["default_connect"].replace("%h", host).replace("%p", "8050") for host in hosts_of(entry["host"])] == [
        f"tcp://{address(node)}:8050" for node in nodes]
    assert (bootstrap["default_port"], bootstrap["default_bind"]) == (8050, "tcp://eth0:%p")

    assert "/curve/curve.cert" in files
    assert kubelet.command_line(nodes[0], container(nodes[0])) == [
        "/bin/bash", "/etc/flux-config/entrypoint.sh", "python", "train.py"]


def test_no_shipped_runtime_is_left_out():
    assert set(FRAMEWORK_VARIABLES) == set(SHIPPED)
