"""Kueue reserves quota for the Pods that are built: their number, and the resources of each container, for every shape of a job."""

import copy

import pytest

from jobs import ANCESTOR, runtime
from kubelet import quantity
from queues import flavor, wait_for

CPU, MORE = {"requests": {"cpu": "500m"}}, {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
GPUS = {"limits": {"nvidia.com/gpu": "4"}}
MPI = {"mpiImplementation": "OpenMPI", "numProcPerNode": 1, "sshAuthMountPath": "/root/.ssh"}


def container(name="node", **fields):
    return {"name": name, "image": "registry.example.com/base:1", **fields}


def job(name, step=None, pods=None, replicas=None, **job_spec):
    """Returns a replicated job; pods: its containers, or its whole Pod spec."""
    spec = pods if isinstance(pods, dict) else {"containers": pods or [container(name if step and step != "trainer" else "node")]}
    return {"name": name, **({"replicas": replicas} if replicas else {}), "template": {
        "metadata": {"labels": {ANCESTOR: step} if step else {}}, "spec": {**job_spec, "template": {"spec": spec}}}}


def trains(pods=None, **job_spec):
    return job("node", "trainer", pods, **job_spec)


def initializes(step, **fields):
    mounted = container(step, volumeMounts=[{"name": "initializer", "mountPath": "/workspace"}], **fields)
    return job(step, step, {"containers": [mounted], "volumes": [{"name": "initializer", "emptyDir": {}}]})


def shape(*jobs, ml=None, runtime_name=None, **spec):
    """Returns (runtime or the name of a shipped one, spec of the TrainJob)"""
    made = runtime("shape", "TrainingRuntime", ml_policy=ml)
    made["spec"]["template"]["spec"]["replicatedJobs"] = copy.deepcopy(list(jobs) or [trains()])
    if ml is False:
        del made["spec"]["mlPolicy"]
    return runtime_name or made, spec


def trainer(**fields):
    return {"trainer": {"image": "registry.example.com/train:1", **fields}}


LAUNCHED = (job("launcher", "trainer"), job("node"))
AS_NODE = {**MPI, "runLauncherAsNode": True}
SHAPES = {
    "nothing said": shape(**trainer()),
    "three nodes": shape(**trainer(numNodes=3)),
    "nodes of the runtime": shape(ml={"numNodes": 4}, **trainer()),
    "requests": shape(**trainer(resourcesPerNode=CPU)),
    "limits alone": shape(**trainer(numNodes=2, resourcesPerNode={"limits": {"cpu": "2", "memory": "1Gi"}})),
    "requests and limits": shape(**trainer(resourcesPerNode=MORE)),
    "GPUs": shape(ml={"numNodes": 2, "torch": {}}, **trainer(resourcesPerNode=GPUS)),
    "the runtime's resources": shape(trains([container(resources=MORE)]), **trainer(numNodes=2)),
    "the same resources in both": shape(trains([container(resources=CPU)]), **trainer(resourcesPerNode=MORE)),
    "a sidecar": shape(trains([container(), container("sidecar", resources=CPU)]), **trainer(resourcesPerNode=MORE)),
    "an init container": shape(trains({"initContainers": [container("first", resources=MORE)], "containers": [container()]}),
                               **trainer(resourcesPerNode=CPU)),
    "a sidecar among the init containers": shape(trains({
        "initContainers": [container("first", resources=CPU, restartPolicy="Always")], "containers": [container()]}), **trainer()),
    "initializers": shape(
        initializes("dataset-initializer", resources=CPU), initializes("model-initializer"), trains(),
        **trainer(resourcesPerNode=GPUS), initializer={"dataset": {"storageUri": "hf://a/b"}, "model": {"storageUri": "hf://a/c"}}),
    "replicas": shape(trains(), job("workers", pods=[container(resources=CPU)], replicas=3), **trainer(resourcesPerNode=GPUS)),
    "more at once than in all": shape(trains(), job("workers", parallelism=4, completions=2), **trainer()),
    "more in all than at once": shape(trains(), job("workers", parallelism=2, completions=6, replicas=2), **trainer()),
    "torch by the CPUs": shape(ml={"numNodes": 2, "torch": {}}, **trainer(resourcesPerNode={"limits": {"cpu": "4"}}, numProcPerNode=2)),
    "jax": shape(ml={"numNodes": 2, "jax": {}}, **trainer(resourcesPerNode=CPU)),
    "xgboost": shape(ml={"numNodes": 2, "xgboost": {}}, **trainer(resourcesPerNode=CPU)),
    "a launcher apart": shape(*LAUNCHED, ml={"numNodes": 2, "mpi": MPI}, **trainer(numNodes=3, resourcesPerNode=CPU)),
    "a launcher as node": shape(*LAUNCHED, ml={"numNodes": 2, "mpi": AS_NODE}, **trainer(numNodes=3, resourcesPerNode=CPU)),
    "a launcher alone": shape(*LAUNCHED, ml={"numNodes": 2, "mpi": AS_NODE}, **trainer(numNodes=1)),
    "the user's patch": shape(**trainer(resourcesPerNode=CPU), runtimePatches=[{"manager": "signalbox.test/shape", "trainingRuntimeSpec": {
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
            "nodeSelector": {"kubernetes.io/os": "linux"}}}}}}]}}}}]),
    "a claimed device": shape(trains({"containers": [container(resources={"claims": [{"name": "gpu"}]})],
                                      "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "four"}]}), **trainer()),
    "flux": shape(ml={"numNodes": 1, "flux": {}}, **trainer(numNodes=2, resourcesPerNode=CPU)),
    "shipped torch": shape(runtime_name="torch-distributed", **trainer(numNodes=2, resourcesPerNode=GPUS)),
    "shipped deepspeed": shape(runtime_name="deepspeed-distributed", **trainer(numNodes=2, resourcesPerNode=GPUS)),
    "shipped torchtune": shape(runtime_name="torchtune-llama3.2-1b", **trainer()),
}

# Shapes for which Kueue 0.19's library differs from Signalbox: (shape, Kueue's reservation, the Pods' resources), of the trainer.
DIFFERENT = {
    "resources of runtime and job": (
        shape(trains([container(resources={"requests": {"memory": "1Gi"}})]), **trainer(resourcesPerNode={"requests": {"cpu": "1"}})),
        {"cpu": 1}, {"cpu": 1, "memory": 2**30}),
    "GPUs of the runtime alone": (
        shape(runtime_name="torchtune-llama3.2-1b", **trainer(resourcesPerNode={"requests": {"cpu": "1"}})),
        {"cpu": 1}, {"cpu": 1, "nvidia.com/gpu": 2}),
    "no mlPolicy": (
        shape(ml=False, **trainer(resourcesPerNode={"requests": {"cpu": "1"}})),
        {"cpu": 1}, {}),
}
ALL = {**SHAPES, **{name: row[0] for name, row in DIFFERENT.items()}}


def job_name(name):
    return f"shape-{list(ALL).index(name)}"


@pytest.fixture(scope="module")
def waiting(queue):
    """A queue in which all jobs wait."""
    with queue(flavor("one", **{"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}), held=True) as team:
        for name, (made, spec) in ALL.items():
            if isinstance(made, dict):
                made["metadata"]["name"] = job_name(name)
                team.rest.create(made)
            team.submit(job_name(name), made if isinstance(made, str) else job_name(name), cpu=None,
                        kind="ClusterTrainingRuntime" if isinstance(made, str) else "TrainingRuntime", **copy.deepcopy(spec))
        yield team


def taken(pod_spec):
    """Returns {container: {resource: amount}}. The amount is the request, else the limit; zero amounts are left out."""
    def amounts(resources):
        found = {**resources.get("limits", {}), **resources.get("requests", {})}
        return {name: quantity(amount) for name, amount in found.items()} | {f"claim {each['name']}": 1 for each in resources.get("claims", [])}
    # The installer of Flux takes what its node takes, and before it, so that a Pod takes no more. Kueue's library gives it nothing.
    every = pod_spec["containers"] + [each for each in pod_spec.get("initContainers", []) if each["name"] != "flux-installer"]
    return {each["name"]: amounts(each.get("resources", {})) for each in every}


def reserved(team, name):
    """Returns Kueue's reservation: {set of Pods: (count, resources of each)}"""
    found = team.workload(name)
    return found and {each["name"]: (each["count"], taken(each["template"]["spec"])) for each in found["spec"]["podSets"]}


def built(team, name):
    """Returns the same of Signalbox's JobSet."""
    job_set = team.rest.get("jobsets", name)
    found = {}
    for each in job_set["spec"]["replicatedJobs"] if job_set else ():
        spec = each["template"]["spec"]
        at_once = spec.get("parallelism", 1)
        found[each["name"]] = (each.get("replicas", 1) * min(at_once, spec.get("completions", at_once)), taken(spec["template"]["spec"]))
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_quota_is_reserved_for_what_is_built(waiting, name):
    wants = wait_for("the Workload", lambda: reserved(waiting, job_name(name)))
    assert wants == wait_for("the JobSet", lambda: built(waiting, job_name(name)))


@pytest.mark.parametrize("name", DIFFERENT)
def test_quota_is_reserved_for_something_else(waiting, name):
    _, reserves, takes = DIFFERENT[name]
    counted = wait_for("the Workload", lambda: reserved(waiting, job_name(name)))
    made = wait_for("the JobSet", lambda: built(waiting, job_name(name)))
    assert (counted["node"], made["node"]) == ((1, {"node": reserves}), (1, {"node": takes}))
