"""Runs every runtime of manifests/runtimes: its TrainJob becomes Complete, with the expected pods, and with the environment, command
and files that its framework needs."""

import collections
import json
import re

import pytest

import jobs
import progress
from jobs import train_job
from progress import until
from rest import Rest, wait_for, wait_until_none

ROOT_PATHS = ["output_dir=/workspace/output", "checkpointer.checkpoint_dir=/workspace/model"]
LLAMA_PATHS = [*ROOT_PATHS, "tokenizer.path=/workspace/model/original/tokenizer.model"]
QWEN_PATHS = [*ROOT_PATHS, "tokenizer.path=/workspace/model/vocab.json",
              "tokenizer.merges_file=/workspace/model/merges.txt"]
ALPACA = ["dataset=torchtune.datasets.alpaca_dataset", "dataset.source=parquet",
          "dataset.data_dir=/workspace/dataset/data"]
KUBERNETES_OWN = {"JOB_COMPLETION_INDEX"}
LORA = "model.lora_attn_modules=[q_proj,v_proj]"
# Of a user whom images do not know.
FOLDER = {"HOME": "/tmp"}
USER = {**FOLDER, "USER": "trainer"}


def pods(rest, name):
    """Returns {replicated job: its pods in order}"""
    found = collections.defaultdict(list)
    for pod in progress.pods(rest, name):
        found[pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]].append(pod)
    for several in found.values():
        several.sort(key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
    return found


def container(pod, name="node"):
    return next(c for c in pod["spec"]["containers"] if c["name"] == name)


def env(pod, name="node"):
    """Returns values as the program sees them: references to fields of the pod are resolved."""
    return {variable["name"]: variable["value"] if "value" in variable else field(pod, variable["valueFrom"]["fieldRef"])
            for variable in container(pod, name).get("env", []) if variable["name"] not in KUBERNETES_OWN}


def field(pod, reference):
    kind, name = re.fullmatch(r"metadata\.(annotations|labels)\['(.+)'\]", reference["fieldPath"]).groups()
    return pod["metadata"][kind][name]


# The environment of node number {rank} of four of TrainJob {job}.
FRAMEWORKS = {
    "plain": {},
    "torch-distributed": {
        "PET_NNODES": "4", "PET_NODE_RANK": "{rank}", "PET_NPROC_PER_NODE": "1",
        "PET_MASTER_ADDR": "{job}-node-0-0.{job}", "PET_MASTER_PORT": "29500"},
    "jax-distributed": {
        "JAX_NUM_PROCESSES": "4", "JAX_PROCESS_ID": "{rank}", "JAX_COORDINATOR_ADDRESS": "{job}-node-0-0.{job}:29500"},
    "xgboost-distributed": {
        "DMLC_NUM_WORKER": "4", "DMLC_TASK_ID": "{rank}", "DMLC_TRACKER_URI": "{job}-node-0-0.{job}",
        "DMLC_TRACKER_PORT": "29500"},
    "flux-distributed": {},
}
OPEN_MPI = {
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_set_default_slots": "1", "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"}
MPI = ["deepspeed-distributed", "mlx-distributed"]


@pytest.fixture(scope="module")
def submitted(cluster, installed, admin):
    """Returns a client for a namespace with a TrainJob for each runtime. All of them run at once, because most of the time is spent
    waiting for their Pods."""
    name = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "runtimes-"}})["metadata"]["name"]
    wait_for("the namespace's service account", lambda: admin.get("serviceaccounts", "default", name))
    rest = Rest(cluster.admin_kubeconfig(name))
    # Volumes that a default StorageClass would provide for jobs that fetch data: the test bed has none.
    disks = [rest.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"generateName": "disk-"}, "spec": {
        "capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}}})
        for _ in range(len(TUNING) + 1)]
    for each in [*map(of_framework, FRAMEWORKS), *map(of_launcher, MPI), per_gpu(), *(of_tuning(*row) for row in TUNING), nothing_said()]:
        rest.create(each)
    yield rest
    rest.delete("namespaces", name)
    for disk in disks:
        rest.delete("persistentvolumes", disk["metadata"]["name"])


def until_complete(rest, name):
    until(rest, name, "Complete", timeout=60)


def of_framework(runtime):
    return train_job(runtime.removesuffix("-distributed"), runtime, nodes=4)


@pytest.mark.parametrize("runtime", FRAMEWORKS)
def test_four_nodes_know_each_other_and_run_to_complete(submitted, runtime):
    job = runtime.removesuffix("-distributed")
    until_complete(submitted, job)

    ran = pods(submitted, job)
    assert {name: len(several) for name, several in ran.items()} == {"node": 4}
    for rank, pod in enumerate(ran["node"]):
        wrapper = ["/bin/bash", "/etc/flux-config/entrypoint.sh"] if job == "flux" else []
        assert container(pod)["command"] == [*wrapper, "python", "train.py"]
        assert pod["spec"]["hostname"] == f"{job}-node-0-{rank}"
        assert env(pod) == {name: value.format(job=job, rank=rank) for name, value in FRAMEWORKS[runtime].items()}


def mounted(pod, rest):
    """Returns {path in the node container: (mode, text)} of files from Secrets and ConfigMaps, as a kubelet would mount them."""
    files = {}
    folders = {mount["name"]: mount["mountPath"] for mount in container(pod)["volumeMounts"]}
    for volume in pod["spec"]["volumes"]:
        source = volume.get("secret") or volume.get("configMap")
        if volume["name"] not in folders or not source:
            continue
        data = (rest.get("secrets", source["secretName"]) if "secret" in volume else rest.get("configmaps", source["name"]))["data"]
        for item in source.get("items") or [{"key": key, "path": key} for key in data]:
            files[f"{folders[volume['name']]}/{item['path']}"] = (item.get("mode", source["defaultMode"]), data[item["key"]])
    return files


def of_launcher(runtime):
    return train_job(runtime.removesuffix("-distributed"), runtime, nodes=3)


@pytest.mark.parametrize("runtime", MPI)
def test_a_launcher_finds_its_nodes_and_the_keys_to_them(submitted, runtime):
    job = runtime.removesuffix("-distributed")
    wait_for("the launcher", lambda: "launcher" in pods(submitted, job), timeout=60)
    ran = pods(submitted, job)
    assert {name: len(several) for name, several in ran.items()} == {"node": 2, "launcher": 1}
    (launcher,) = ran["launcher"]
    files = mounted(launcher, submitted)
    assert files["/etc/mpi/hostfile"] == (0o444, "".join(
        f"{job}-{host}.{job} slots=1\n" for host in ("node-0-0", "node-0-1", "launcher-0-0")))
    assert {f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}" for several in ran.values() for pod in several} == {
        line.split()[0] for line in files["/etc/mpi/hostfile"][1].splitlines()}
    assert env(launcher) == OPEN_MPI
    assert container(launcher)["command"] == ["python", "train.py"]
    keys = {path: entry for path, entry in files.items() if path.startswith("/home/mpiuser/.ssh/")}
    assert {path.rsplit("/", 1)[1]: mode for path, (mode, _) in keys.items()} == {
        "id_rsa": 0o600, "id_rsa.pub": 0o644, "authorized_keys": 0o644}
    for node in ran["node"]:
        assert container(node)["command"] == ["/usr/sbin/sshd"]
        assert mounted(node, submitted) == keys
    until_complete(submitted, job)


def per_gpu():
    job = train_job("gpus", "xgboost-distributed", nodes=2)
    job["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"nvidia.com/gpu": 4}}
    return job


def test_xgboost_counts_a_worker_per_gpu(submitted):
    until_complete(submitted, "gpus")
    assert {env(pod)["DMLC_NUM_WORKER"] for pod in pods(submitted, "gpus")["node"]} == {"8"}


# runtime, the TrainJob's trainer, the arguments between "tune run" and the paths, the paths
TUNING = [
    ("torchtune-llama3.2-1b", {"args": ["epochs=1"]}, ["full_finetune_distributed", "--config", "llama3_2/1B_full"],
     LLAMA_PATHS),
    ("torchtune-llama3.2-3b", {"args": [LORA]}, ["lora_finetune_distributed", "--config", "llama3_2/3B_lora"],
     LLAMA_PATHS),
    ("torchtune-qwen2.5-1.5b", {"args": [LORA], "resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}},
     ["lora_finetune_single_device", "--config", "qwen2_5/1.5B_lora_single_device"], QWEN_PATHS),
]


def of_tuning(runtime, trainer, _recipe, _paths):
    return train_job(runtime.replace(".", "-"), runtime, trainer={"command": ["tune", "run"], **trainer}, initializer={
        "dataset": {"storageUri": "hf://team/questions"}, "model": {"storageUri": "hf://team/base"}})


@pytest.mark.parametrize("runtime,trainer,recipe,paths", TUNING, ids=[row[0] for row in TUNING])
def test_torchtune_fetches_data_and_model_and_then_tunes(submitted, runtime, trainer, recipe, paths):
    name = runtime.replace(".", "-")
    until_complete(submitted, name)

    ran = pods(submitted, name)
    assert {name: len(several) for name, several in ran.items()} == {
        "dataset-initializer": 1, "model-initializer": 1, "node": 1}
    (data,), (model,), (node,) = ran["dataset-initializer"], ran["model-initializer"], ran["node"]
    assert env(data, "dataset-initializer") == {**FOLDER, "STORAGE_URI": "hf://team/questions"}
    assert env(model, "model-initializer") == {**FOLDER, "STORAGE_URI": "hf://team/base"}

    several = recipe[0].endswith("_distributed")
    meeting_point = ["--rdzv_endpoint=127.0.0.1:29500"] if several else []
    assert container(node)["command"] == ["tune", "run", *meeting_point, *recipe, *paths]
    assert container(node)["args"] == trainer["args"]
    assert env(node) == {**USER, "PET_NNODES": "1", "PET_NODE_RANK": "0", "PET_NPROC_PER_NODE": "auto"}
    assert claims(data) == claims(model) == claims(node) == {f"initializer-{name}"}


def claims(pod):
    return {v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v}


def nothing_said():
    job = train_job("default", "torchtune-llama3.2-1b")
    del job["spec"]["trainer"]
    return job


def test_torchtune_needs_nothing_but_the_runtimes_name(submitted):
    until_complete(submitted, "default")

    ran = pods(submitted, "default")
    (node,) = ran["node"]
    assert container(node)["command"] == ["tune", "run", "--rdzv_endpoint=localhost:29500", "full_finetune_distributed",
                                          "--config", "llama3_2/1B_full", *LLAMA_PATHS]
    assert container(node)["args"] == ALPACA
    assert env(ran["model-initializer"][0], "model-initializer") == {
        **FOLDER, "STORAGE_URI": "hf://meta-llama/Llama-3.2-1B-Instruct"}


def test_the_webhook_accepts_all_shipped_runtimes_without_a_warning(signalbox, admin):
    shipped = {runtime["metadata"]["name"] for runtime in admin.list("clustertrainingruntimes")}
    assert shipped == {*FRAMEWORKS, *MPI, *(row[0] for row in TUNING)}
    for name in shipped:
        admin.delete("clustertrainingruntimes", name)
    signalbox.install_runtimes("--warnings-as-errors")
    assert {runtime["metadata"]["name"] for runtime in admin.list("clustertrainingruntimes")} == shipped


def test_a_fixed_subdomain_serves_the_first_job_alone_as_admission_warns(signalbox, rest, kubectl):
    made = jobs.runtime("subdomain")
    made["spec"]["template"]["spec"]["network"] = {"subdomain": "team"}
    first, second = (train_job(name, "subdomain", seconds="never") for name in ("first", "second"))

    def warning(obj):
        with pytest.raises(RuntimeError) as refused:
            kubectl("create", "--dry-run=server", "--warnings-as-errors", "-f", "-", input=json.dumps(obj))
        return str(refused.value)
    assert "Warning: spec.template.spec.network.subdomain: TrainJobs share the first one's Service" in warning(made)
    rest.create(made)
    assert "Warning: the runtime has a network.subdomain: TrainJobs share the first one's Service" in warning(second)
    for job in (first, second):
        rest.create(job)
        progress.until_runs(rest, job["metadata"]["name"])
    # The effect that the warning describes: JobSet makes no second Service, and this one selects only Pods of the first job.
    (service,) = rest.list("services")
    assert service["metadata"]["name"] == "team" and progress.owner(service) == progress.uid(rest.get("jobsets", "first"))
    assert service["spec"]["selector"] == {"jobset.sigs.k8s.io/jobset-name": "first"}
    rest.delete("trainjobs", "first", propagation="Foreground")
    progress.until_gone(rest, "first")
    wait_until_none("Services", lambda: rest.list("services"))
    assert progress.running_pods(rest, "second")
