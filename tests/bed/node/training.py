"""TrainJobs whose programs run on real nodes: they have the image that is made here, and the files of the folder workspace."""

import pathlib

from .images import FRAMEWORKS, TRAINING

WORKSPACE = pathlib.Path(__file__).with_name("workspace")
# By runtime. JAX and XGBoost need packages that are not beside PyTorch. The torchrun of Debian's PyTorch 1.13 fails with its own defaults for
# these two, which are 0: with Python 3.11, Std.from_str("0") finds no member. So they name a process that is not there.
_ENVIRONMENT = {
    "jax-distributed": {"PYTHONPATH": FRAMEWORKS},
    "xgboost-distributed": {"PYTHONPATH": FRAMEWORKS},
    "torch-distributed": {"PET_REDIRECTS": "9:1", "PET_TEE": "9:1"},
}


def train_job(name, runtime, command, nodes=1, trainer=None, **spec):
    # A program on a machine of two cores leaves room for what the guides ask for.
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name}, "spec": {
        "runtimeRef": {"name": runtime}, **spec,
        "trainer": {"numNodes": nodes, "command": command, "resourcesPerNode": {"requests": {"cpu": "10m"}}, **(trainer or {})}}}


def pod_specs(runtime):
    return [job["template"]["spec"]["template"]["spec"] for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]]


def adapt_runtimes(rest, names, files=None):
    """Gives these shipped runtimes the image, and at /workspace the programs of the folder workspace and `files` (name: text)."""
    programs = {path.name: path.read_text() for path in WORKSPACE.glob("*.py")}
    rest.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "programs"}, "data": {**programs, **(files or {})}})
    for name in names:
        rest.replace("clustertrainingruntimes", adapted(rest.get("clustertrainingruntimes", name), name))


def adapted(runtime, shipped):
    """Returns the runtime with the image and the programs, and with the environment that programs of that shipped one need."""
    environment = {"PYTHONUNBUFFERED": "1", **_ENVIRONMENT.get(shipped, {})}
    for pod in pod_specs(runtime):
        # Other namespaces have no programs.
        pod["volumes"] = [{"name": "programs", "configMap": {"name": "programs", "optional": True}}]
        for container in pod["containers"]:
            container["image"] = TRAINING
            container.setdefault("volumeMounts", []).append({"name": "programs", "mountPath": "/workspace"})
            container.setdefault("env", []).extend({"name": name, "value": value} for name, value in environment.items())
    return runtime
