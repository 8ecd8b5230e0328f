"""Every runtime of manifests/runtimes, with each gang policy, with initializers and without: the JobSet controller's own
webhook takes the JobSet, the Pods come, every variable of theirs can be resolved as a kubelet does it, and the framework's
own launcher (torchrun, torchtune, JAX, XGBoost's tracker, mpirun) understands the result. There is no Flux to be had here:
its files are compared with its manual."""

import copy
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tomllib

import pytest
import yaml

from controlplane.binaries import cache_directory
from controlplane.ports import free_ports
from gangs import GROUPS, install_pod_groups, path_of_pod_group
from jobs import train_job
from kubelet import Kubelet
from paths import ROOT
from rest import ApiError, conditions, wait_for
from sshd import Sshd

PROGRAMS = ROOT / "tests" / "bed" / "frameworks"
SHIPPED = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "manifests/runtimes").glob("*.yaml"))
           if path.stem != "kustomization"}
# Where scripts/setup puts them. PyTorch is the system's.
FRAMEWORKS = cache_directory() / "tools" / "frameworks"
FRAMEWORKS_PYTHON = FRAMEWORKS / "bin" / "python"


@dataclasses.dataclass(frozen=True)
class Case:
    runtime: str
    policy: str | None  # of its PodGroup
    initializes: bool   # the TrainJob says what to fetch, and has torchtune choose the recipe

    @property
    def namespace(self):
        return self.policy or "alone"

    @property
    def job(self):
        """The same in each namespace, so that their Pods can be compared."""
        name = self.runtime.removesuffix("-distributed").replace(".", "-")
        return name + ("-own" if self.initializes else "")

    def __str__(self):
        return f"{self.runtime}-{self.namespace}" + ("-initializers" if self.initializes else "")


def replicated_jobs(runtime):
    return [job["name"] for job in SHIPPED[runtime]["spec"]["template"]["spec"]["replicatedJobs"]]


CASES = [Case(name, policy, initializes) for name in SHIPPED for policy in (None, *GROUPS)
         for initializes in ((False, True) if "dataset-initializer" in replicated_jobs(name) else (False,))]
every_case = pytest.mark.parametrize("case", CASES, ids=str)

# What a user adds, of every kind of source; after it, what the program finds.
USERS = [
    {"name": "MODE", "value": "fast"},
    {"name": "EARLY", "value": "$(MODE) $(LATE) $$(MODE)"},
    {"name": "LATE", "value": ""},
    {"name": "EPOCHS", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "epochs"}}},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "account", "key": "HF_TOKEN"}}},
    {"name": "MISSING", "valueFrom": {"secretKeyRef": {"name": "nobody", "key": "key", "optional": True}}},
    {"name": "CORES", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "JOB", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}},
]


def users(pod, job):
    return {"MODE": "fast", "EARLY": "fast $(LATE) $(MODE)", "LATE": "", "EPOCHS": "3", "TOKEN": "s3cret", "CORES": "2",
            "POD": pod["metadata"]["name"], "JOB": job}


def submitted(case):
    """Two nodes where the runtime knows several, two processes each by their CPUs."""
    one_node = "dataset-initializer" in replicated_jobs(case.runtime)
    trainer = {"image": "registry.example.com/team/train:1.0", "env": USERS, "resourcesPerNode": {"limits": {"cpu": "1500m"}}}
    if case.initializes:
        trainer |= {"command": ["tune", "run"], "args": ["model.lora_attn_modules=[q_proj,v_proj]", "epochs=1"]}
    elif not one_node:
        trainer |= {"command": ["torchrun", "train.py"] if case.runtime.startswith("torch") else ["python", "train.py"],
                    "numNodes": 2}
    kind = "TrainingRuntime" if case.policy else "ClusterTrainingRuntime"
    job = train_job(case.job, case.runtime, kind, namespace=case.namespace, trainer=trainer)
    if case.initializes:
        account = {"secretRef": {"name": "account"}}
        job["spec"]["initializer"] = {
            "dataset": {"storageUri": "hf://team/questions", "env": [{"name": "SPLIT", "value": "train"}], **account},
            "model": {"storageUri": "hf://team/base", **account}}
    if "launcher" in replicated_jobs(case.runtime):
        # The end of a launcher would be the end of the nodes.
        job["spec"]["runtimePatches"] = [{"manager": "signalbox.test/nodes", "trainingRuntimeSpec": {"template": {"spec": {
            "replicatedJobs": [{"name": name, "template": {"spec": {"template": {"metadata": {"labels": {
                "signalbox.test/run-seconds": "never"}}}}}} for name in ("node", "launcher")]}}}}]
    return job


@pytest.fixture(scope="module")
def accepted(installed, admin):
    """All TrainJobs, submitted at once: {case: {replicated job: its Pods in order}}."""
    install_pod_groups(admin)
    for namespace in ("alone", *GROUPS):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": namespace},
                      "data": {"epochs": "3"}})
        admin.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "account", "namespace": namespace},
                      "stringData": {"HF_TOKEN": "s3cret"}})
    for case in CASES:
        if case.policy and not case.initializes:
            local = copy.deepcopy(SHIPPED[case.runtime])
            local |= {"kind": "TrainingRuntime", "metadata": {**local["metadata"], "namespace": case.namespace}}
            local["spec"]["podGroupPolicy"] = {case.policy: {}}
            admin.create(local)
    # What a default StorageClass would provide.
    for number in range(sum("dataset-initializer" in replicated_jobs(case.runtime) for case in CASES)):
        admin.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"disk-{number}"}, "spec": {
            "capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}}})
    for case in CASES:
        wait_for("the webhook to know the runtime", lambda: taken(admin, submitted(case)), timeout=10)
    return {case: wait_for(f"the Pods of {case}", lambda: all_pods(admin, case), timeout=90) for case in CASES}


def taken(rest, job):
    try:
        return rest.create(job)
    except ApiError as error:
        if "denied" in str(error):
            raise
        return None  # the namespace is that new


def all_pods(rest, case):
    found = {name: [] for name in replicated_jobs(case.runtime)}
    for pod in rest.list("pods", case.namespace, selector=f"jobset.sigs.k8s.io/jobset-name={case.job}"):
        if "nodeName" in pod["spec"]:
            found[pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]].append(pod)
    for several in found.values():
        several.sort(key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
    return found if {name: len(several) for name, several in found.items()} == expected_pods(case) else None


def expected_pods(case):
    if "launcher" in replicated_jobs(case.runtime):
        return {"node": 1, "launcher": 1}  # the launcher is one of the two nodes
    return {name: 2 if replicated_jobs(case.runtime) == ["node"] else 1 for name in replicated_jobs(case.runtime)}


def container(pod, name="node"):
    return next(each for each in pod["spec"]["containers"] if each["name"] == name)


def address(pod):
    return f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}"


# The JobSet and its gang ---------------------------------------------------------------------------------------------------

@every_case
def test_the_job_sets_own_webhook_accepts_it(accepted, rest, case):
    created = conditions(rest.get("trainjobs", case.job, case.namespace))["Created"]
    assert (created["status"], created["reason"]) == ("True", "JobsCreationSucceeded")
    job_set = rest.get("jobsets", case.job, case.namespace)
    assert [job["name"] for job in job_set["spec"]["replicatedJobs"]] == replicated_jobs(case.runtime)
    # What only that webhook sets, and we never.
    assert {job["template"]["spec"]["completionMode"] for job in job_set["spec"]["replicatedJobs"]} == {"Indexed"}


@every_case
def test_the_gang_is_who_can_start_together(accepted, rest, case):
    marked = [name for name, several in accepted[case].items() for pod in several
              if pod["metadata"].get("labels", {}).get("scheduling.x-k8s.io/pod-group") == case.job
              or pod["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name") == case.job]
    if not case.policy:
        assert marked == []
        return
    assert marked == ["node"] * expected_pods(case)["node"]
    group = rest.request("GET", path_of_pod_group(case.policy, case.job, case.namespace))["spec"]
    assert group["minMember"] == len(marked)
    assert group["minResources"]["cpu"] == f"{1500 * len(marked)}m".replace("3000m", "3")


# What the Pods are told ----------------------------------------------------------------------------------------------------

TORCH = {"PET_NNODES": "{nodes}", "PET_NODE_RANK": "{rank}", "PET_NPROC_PER_NODE": "{processes}",
         "PET_MASTER_ADDR": "{job}-node-0-0.{job}", "PET_MASTER_PORT": "29500"}
# MCA parameters of Open MPI 4, as https://www.open-mpi.org/faq/?category=tuning#setting-mca-params has them in variables.
OPEN_MPI = {
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_set_default_slots": "1", "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"}
# runtime: the job whose container "node" is told something of the framework, and what
TOLD = {
    "plain": ("node", {}),
    "torch-distributed": ("node", TORCH),
    "jax-distributed": ("node", {"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "{rank}",
                                 "JAX_COORDINATOR_ADDRESS": "{job}-node-0-0.{job}:29500"}),
    "xgboost-distributed": ("node", {"DMLC_NUM_WORKER": "2", "DMLC_TASK_ID": "{rank}",
                                     "DMLC_TRACKER_URI": "{job}-node-0-0.{job}", "DMLC_TRACKER_PORT": "29500"}),
    "flux-distributed": ("node", {}),
    "deepspeed-distributed": ("launcher", OPEN_MPI),
    "mlx-distributed": ("launcher", OPEN_MPI),
    **{name: ("node", TORCH) for name in SHIPPED if name.startswith("torchtune-")},
}


def told(case, name, rank):
    job, variables = TOLD[case.runtime]
    if name != job:
        return {}
    one_node = case.runtime.startswith("torchtune-")
    values = {key: value.format(job=case.job, rank=rank, nodes=1 if one_node else 2, processes="auto" if one_node else 2)
              for key, value in variables.items()}
    # torchtune's own way to name the master is on its command line.
    return {key: value for key, value in values.items() if not (case.initializes and key.startswith("PET_MASTER"))}


def fetched(case, name):
    """What an initializer is told: by the TrainJob, else by the runtime."""
    template = next(job for job in SHIPPED[case.runtime]["spec"]["template"]["spec"]["replicatedJobs"] if job["name"] == name)
    if not case.initializes:
        (given,) = template["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
        return {given["name"]: given["value"]}
    own = {"dataset-initializer": {"STORAGE_URI": "hf://team/questions", "SPLIT": "train"},
           "model-initializer": {"STORAGE_URI": "hf://team/base"}}
    return {"HF_TOKEN": "s3cret", **own[name]}


@every_case
def test_every_variable_of_every_container_can_be_resolved(accepted, rest, case):
    kubelet = Kubelet(rest, case.namespace)
    for name, several in accepted[case].items():
        for rank, pod in enumerate(several):
            for each in pod["spec"]["containers"]:
                found = kubelet.environment(pod, each)
                assert found.pop("JOB_COMPLETION_INDEX") == str(rank)  # the Job controller's
                if name.endswith("-initializer"):
                    assert found == fetched(case, name)
                else:
                    assert found == {**users(pod, case.job), **told(case, name, rank)}
            for each in pod["spec"].get("initContainers", []):
                assert set(kubelet.environment(pod, each)) <= {"JOB_COMPLETION_INDEX"}


@every_case
def test_whoever_is_told_of_a_node_is_told_its_address_and_an_open_port(accepted, rest, case):
    job, _ = TOLD[case.runtime]
    first = accepted[case][job][0]
    values = Kubelet(rest, case.namespace).environment(first, container(first)).values()
    hosts = {match[0] for value in values for match in re.finditer(r"[a-z0-9-]+-node-0-0\.[a-z0-9-]+", value)}
    assert hosts <= {address(first)}
    if hosts:
        assert [port["containerPort"] for port in container(first)["ports"]] == [29500]


# What the frameworks make of it --------------------------------------------------------------------------------------------

def environments(accepted, rest, case, job="node"):
    """{rank: environment} with loopback in place of the first node, whose name only a cluster's DNS knows, and with a port
    that is free here."""
    first = address(accepted[case][job][0])
    (port,) = free_ports(1)
    kubelet = Kubelet(rest, case.namespace)
    return [{key: value.replace(first, "127.0.0.1").replace("29500", str(port))
             for key, value in kubelet.environment(pod, container(pod)).items()} for pod in accepted[case][job]]


def run_on_all_nodes(command, environments, folder):
    """What each prints."""
    own = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    running = [subprocess.Popen(command, env={**environment, **own}, cwd=folder, stdout=subprocess.PIPE,
                                stderr=open(folder / f"errors-{rank}", "w", encoding="utf-8"), text=True)
               for rank, environment in enumerate(environments)]
    try:
        printed = [process.communicate(timeout=120)[0].strip().splitlines() for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * len(running), (folder / "errors-0").read_text()[-3000:]
    return printed


def test_torchrun_starts_the_processes_of_all_nodes(accepted, rest, tmp_path):
    case = Case("torch-distributed", None, False)
    assert container(accepted[case]["node"][0])["command"] == ["torchrun", "train.py"]
    # Debian 12's PyTorch 1.13 does not take its own defaults of the two options under its Python.
    command = ["torchrun", "--redirects", "1", "--tee", "1", PROGRAMS / "train_torch.py"]
    printed = run_on_all_nodes(command, environments(accepted, rest, case), tmp_path)
    said = sorted(line.split(":", 1)[1] for lines in printed for line in lines)
    # rank, how many, rank on its node, node, master
    assert said == ["0 4 0 0 127.0.0.1", "1 4 1 0 127.0.0.1", "2 4 0 1 127.0.0.1", "3 4 1 1 127.0.0.1"]


def test_jax_processes_find_their_coordinator(accepted, rest, tmp_path):
    found = environments(accepted, rest, Case("jax-distributed", None, False))
    printed = run_on_all_nodes([FRAMEWORKS_PYTHON, PROGRAMS / "train_jax.py"],
                               [{**environment, "JAX_PLATFORMS": "cpu"} for environment in found], tmp_path)
    assert printed == [["0 2"], ["1 2"]]


def test_xgboost_workers_join_their_tracker(accepted, rest, tmp_path):
    found = environments(accepted, rest, Case("xgboost-distributed", None, False))
    printed = run_on_all_nodes([FRAMEWORKS_PYTHON, PROGRAMS / "train_xgboost.py"], found, tmp_path)
    assert [lines[-1] for lines in printed] == ["0 2 2", "1 2 2"]


@pytest.mark.parametrize("runtime", ["deepspeed-distributed", "mlx-distributed"])
def test_open_mpi_starts_a_process_on_each_host(accepted, rest, tmp_path, runtime):
    case = Case(runtime, None, False)
    (launcher,), nodes = accepted[case]["launcher"], accepted[case]["node"]
    kubelet = Kubelet(rest, case.namespace)
    files = kubelet.files(launcher, container(launcher))
    (tmp_path / "hostfile").write_text(files.pop("/etc/mpi/hostfile")[1])
    environment = kubelet.environment(launcher, container(launcher))
    environment["OMPI_MCA_orte_default_hostfile"] = str(tmp_path / "hostfile")
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    keys = {path.removeprefix("/home/mpiuser/.ssh/"): text.encode() for path, (_, text) in files.items()}
    assert [kubelet.files(node, container(node)) for node in nodes] == [files]
    with Sshd(tmp_path / "nodes", keys) as sshd:
        printed = sshd.run("mpirun.openmpi", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE",
                           environment=environment)
        assert sorted(printed.splitlines()) == ["0 of 2", "1 of 2"]
        reached = {word for call in sshd.calls() for word in call.split() if word.endswith(f".{case.job}")}
        assert reached == {address(pod) for pod in (launcher, *nodes)}


# What Flux reads, by its manual: doc/man5 of github.com/flux-framework/flux-core, flux-config-access.rst at 6fd7fc8,
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
    """RFC 29 of Flux, as far as it is used: name[first-last]."""
    name, numbers = re.fullmatch(r"([^\[]+)\[([0-9-]+)\]", text).groups()
    first, _, last = numbers.partition("-")
    return [f"{name}{number}" for number in range(int(first), int(last or first) + 1)]


def test_flux_brokers_are_the_nodes_and_reach_each_other_by_name(accepted, rest):
    case = Case("flux-distributed", None, False)
    nodes = accepted[case]["node"]
    kubelet = Kubelet(rest, case.namespace)
    (each,) = {json.dumps(kubelet.files(node, container(node)), sort_keys=True) for node in nodes}
    files = json.loads(each)
    broker = tomllib.loads(files["/etc/flux-config/broker.toml"][1])
    assert {table: set(keys) - FLUX_KEYS[table] for table, keys in broker.items()} == {table: set() for table in broker}

    # A broker's rank is where its host name is in the list; it is reached by the name that DNS has of its Pod.
    bootstrap = broker["bootstrap"]
    (entry,) = bootstrap["hosts"]
    assert hosts_of(entry["host"]) == [node["spec"]["hostname"] for node in nodes]
    assert [bootstrap["default_connect"].replace("%h", host).replace("%p", "8050") for host in hosts_of(entry["host"])] == [
        f"tcp://{address(node)}:8050" for node in nodes]
    assert (bootstrap["default_port"], bootstrap["default_bind"]) == (8050, "tcp://eth0:%p")

    assert "/curve/curve.cert" in files
    assert kubelet.command_line(nodes[0], container(nodes[0])) == [
        "/bin/bash", "/etc/flux-config/entrypoint.sh", "python", "train.py"]


@pytest.fixture(scope="module")
def tuned(accepted, admin):
    """What torchtune's command line understands: {case: ...}. PyTorch takes seconds to load, so once for all."""
    cases = [case for case in CASES if case.runtime.startswith("torchtune-")]
    asked = []
    for case in cases:
        (node,) = accepted[case]["node"]
        kubelet = Kubelet(admin, case.namespace)
        asked.append({"command": kubelet.command_line(node, container(node)),
                      "environment": kubelet.environment(node, container(node))})
    (packages,) = FRAMEWORKS.glob("lib/python3.*/site-packages")
    done = subprocess.run(["/usr/bin/python3", PROGRAMS / "read_tune.py", packages], input=json.dumps(asked),
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(cases, json.loads(done.stdout)))


@pytest.mark.parametrize("case", [case for case in CASES if case.runtime.startswith("torchtune-")], ids=str)
def test_torchtune_knows_recipe_configuration_and_settings(tuned, case):
    recipe, suffix = ("lora_finetune_distributed", "_lora") if case.initializes else ("full_finetune_distributed", "_full")
    _, family, size = case.runtime.split("-")
    assert tuned[case] == {
        "nodes": "1", "rank": 0, "processes": "auto",
        "endpoint": f"{case.job}-node-0-0.{case.job}:29500" if case.initializes else "localhost:29500",
        "recipe": recipe, "config": f"{family.replace('.', '_')}/{size.upper()}{suffix}", "config belongs to recipe": True,
        "torchrun": True, "may use torchrun": True, "unknown settings": []}


def test_no_shipped_runtime_is_left_out():
    assert set(TOLD) == set(SHIPPED)
