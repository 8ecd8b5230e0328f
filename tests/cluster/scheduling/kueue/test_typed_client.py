"""Kueue reads a TrainJob into Go types and writes back the whole object. This loses values that are empty there, and fields that its
version does not have. The job is admitted all the same, and keeps its fields. Empty values are left out of the comparison here:
tests/cluster/admission/test_typed_clients.py has them one by one."""

import pytest

from jobs import ANCESTOR, runtime
from queues import SideBySide, flavor, wait_for

EMPTY_VARIABLE = [{"name": "EMPTY", "value": ""}]
HALF = {"requests": {"cpu": "500m"}}


def patched(**pod_spec):
    """Returns a patch of the trainer's Pods."""
    return {"runtimePatches": [{"manager": "signalbox.test/shape", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": pod_spec}}}}]}}}}]}


def container(**fields):
    return patched(containers=[{"name": "sidecar", **fields}])


def trainer(**fields):
    return {"trainer": {"image": "registry.example.com/train:1", "resourcesPerNode": HALF, **fields}}


def volume(**source):
    return patched(volumes=[{"name": "other", **source}])


SHAPES = {
    "nothing empty": trainer(env=[{"name": "A", "value": "b"}], args=["x"]),
    "trainer: a variable without a value": trainer(env=EMPTY_VARIABLE),
    "trainer: no arguments": trainer(args=[]),
    "trainer: no command": trainer(command=[]),
    "trainer: no variables": trainer(env=[]),
    "trainer: no limits": trainer(resourcesPerNode={**HALF, "limits": {}}),
    "trainer: no claims": trainer(resourcesPerNode={**HALF, "claims": []}),
    "trainer: an optional key that is not": trainer(env=[
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": False}}}]),
    "trainer: an empty argument": trainer(args=[""]),
    "trainer: a divisor": trainer(env=[{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1"}}}]),
    "trainer: no divisor": trainer(env=[{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]),
    "dataset: a variable without a value": {"initializer": {"dataset": {"storageUri": "hf://a/b", "env": EMPTY_VARIABLE}}},
    "dataset: no variables": {"initializer": {"dataset": {"storageUri": "hf://a/b", "env": []}}},
    "model: a variable without a value": {"initializer": {"model": {"storageUri": "hf://a/b", "env": EMPTY_VARIABLE}}},
    "patch: a variable without a value": container(env=EMPTY_VARIABLE),
    "patch: no variables": container(env=[]),
    "patch: a mount that may be written": container(volumeMounts=[{"name": "shape", "mountPath": "/s", "readOnly": False}]),
    "patch: a volume of no items": volume(configMap={"name": "c", "items": []}),
    "patch: a volume that is an empty directory": volume(emptyDir={}),
    "patch: no volumes": patched(volumes=[]),
    "patch: no node selector": patched(nodeSelector={}),
    "patch: no tolerations": patched(tolerations=[]),
    "patch: a toleration without a value": patched(tolerations=[{"key": "a", "operator": "Equal", "value": ""}]),
    "patch: no security": patched(securityContext={}),
    "patch: a security context that forbids nothing": container(securityContext={"privileged": False}),
    "patch: an affinity of nothing": patched(affinity={}),
    "patch: no gates": patched(schedulingGates=[]),
    # Fields that the types of 0.19.2 lack.
    "unknown: claims of a Pod": patched(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "four"}]),
    "unknown: resources of a container": container(resources={"limits": {"memory": "1Gi"}}),
    "unknown: a grace period": patched(terminationGracePeriodSeconds=20),
}


def roomy(team):
    """Creates a runtime with both initializers and a sidecar, so that every shape has a target."""
    made = runtime(kind="TrainingRuntime")
    jobs = made["spec"]["template"]["spec"]["replicatedJobs"]
    pod = jobs[0]["template"]["spec"]["template"]["spec"]
    pod["containers"].append({"name": "sidecar", "image": "registry.example.com/sidecar:1"})
    pod["volumes"] = [{"name": "shape", "emptyDir": {}}]
    for step in ("dataset-initializer", "model-initializer"):
        mount = {"name": "initializer", "mountPath": "/workspace"}
        container = {"name": step, "image": "registry.example.com/fetch:1", "volumeMounts": [mount]}
        jobs.append({"name": step, "template": {"metadata": {"labels": {ANCESTOR: step}}, "spec": {"template": {"spec": {
            "containers": [container], "volumes": [{"name": "initializer", "emptyDir": {}}]}}}}})
    team.rest.create(made)


def said(spec):
    """Returns the spec without Kueue's own patch and without values that equal absent ones."""
    def full(value):
        if isinstance(value, list):
            return [full(each) for each in value]
        if isinstance(value, dict):
            return {name: each for name, each in ((name, full(each)) for name, each in value.items()) if each not in ("", [], {}, None, False)}
        return value
    own = [each for each in spec["runtimePatches"] if each["manager"].startswith("signalbox.test/")]
    return full({**spec, "runtimePatches": own, "suspend": None})


def submit(team, name):
    spec = SHAPES[name]
    job = team.submit(f"shape-{list(SHAPES).index(name)}", cpu="500m" if "trainer" not in spec else None, **spec)

    def resumed():
        live = team.rest.get("trainjobs", job["metadata"]["name"])
        return live if live["spec"]["suspend"] is False else None
    live = wait_for(f"Kueue to resume it with {name}", resumed, interval=1)
    assert said(live["spec"]) == said(job["spec"])


@pytest.fixture(scope="module")
def outcomes(request, queue):
    with queue(flavor("one", cpu="100")) as team:
        roomy(team)
        with SideBySide(request, "shape", lambda name: submit(team, name)) as stories:
            yield stories


@pytest.mark.parametrize("shape", SHAPES)
def test_a_job_is_admitted_as_it_was_created_with(outcomes, shape):
    outcomes.result(shape)
