"""Every manifest can be parsed and built, keeps the project's conventions, and is accepted by the API server."""

import pathlib
import re

import pytest
import yaml

from schema_server import ROOT, build, load_all
from deployment import DRAIN_SECONDS

MANIFESTS = ROOT / "manifests"
# test_release.py tests the chart, whose files are Helm templates.
FILES = sorted(path for path in MANIFESTS.rglob("*.yaml") if "chart" not in path.relative_to(MANIFESTS).parts)
# Components are built with the overlays that use them.
KUSTOMIZATIONS = sorted(path.parent for path in FILES
                        if path.name == "kustomization.yaml" and "kind: Kustomization" in path.read_text())
RUNTIMES = sorted(path for path in (MANIFESTS / "runtimes").glob("*.yaml") if path.name != "kustomization.yaml")
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def name_of(path):
    return str(pathlib.Path(path).relative_to(MANIFESTS))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_parses_and_is_neat(path):
    text = path.read_text()
    assert load_all(text)
    assert text.endswith("\n") and "\t" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_is_part_of_a_kustomization(path):
    # Examples are applied one by one: tests/cluster/docs/test_examples.py.
    if path.name == "kustomization.yaml" or path.parent.name in ("crds-source", "examples"):
        return
    kustomization = yaml.safe_load((path.parent / "kustomization.yaml").read_text())
    assert path.name in [*kustomization.get("resources", []), *(patch.get("path") for patch in kustomization.get("patches", []))]


@pytest.mark.parametrize("directory", KUSTOMIZATIONS, ids=name_of)
def test_builds(plane, directory):
    assert build(plane, directory)


def test_all_objects_are_labelled_and_in_our_namespace(plane):
    for obj in build(plane, MANIFESTS / "base"):
        assert obj["metadata"]["labels"]["app.kubernetes.io/part-of"] == "signalbox", obj["metadata"]["name"]
        assert obj["metadata"].get("namespace") in (None, "kubeflow-system")


def test_cluster_scoped_objects_name_no_namespace(plane, rest, installed):
    lines = plane.kubectl("api-resources", "--namespaced=false", "--no-headers").splitlines()
    shared = {line.split()[-1] for line in lines}
    for obj in build(plane, MANIFESTS / "base"):
        assert (obj["kind"] in shared) == ("namespace" not in obj["metadata"]), (obj["kind"], obj["metadata"]["name"])


def test_the_overlay_for_local_processes_leaves_out_objects_for_pods(plane):
    kinds = {obj["kind"] for obj in build(plane, MANIFESTS / "overlays" / "local-processes")}
    all_kinds = {obj["kind"] for obj in build(plane, MANIFESTS / "base")}
    assert all_kinds - kinds == {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}


def test_pods_satisfy_pod_security_restricted(rest, installed):
    namespace = rest.get("namespaces", "kubeflow-system")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    templates = {obj["metadata"]["name"]: obj["spec"]["template"] for obj in installed if obj["kind"] == "Deployment"}
    assert set(templates) == {"signalbox-webhook", "signalbox-reconciler"}
    for name, template in templates.items():
        rest.create({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
                     "metadata": {**template["metadata"], "name": name, "namespace": "kubeflow-system"}}, dry_run=True)


def test_the_grace_period_of_pods_exceeds_the_drain_time_of_the_programs(installed):
    given = [obj["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] for obj in installed
             if obj["kind"] == "Deployment"]
    assert len(given) == 2 and min(given) > DRAIN_SECONDS


def test_services_find_their_pods(installed):
    labels = {obj["metadata"]["name"]: obj["spec"]["template"] for obj in installed if obj["kind"] == "Deployment"}
    for service in (obj for obj in installed if obj["kind"] == "Service"):
        template = labels[service["metadata"]["name"]]
        assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        ports = {port["name"] for container in template["spec"]["containers"] for port in container["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


@pytest.mark.parametrize("path", RUNTIMES, ids=name_of)
def test_runtimes_have_the_fields_that_clients_require(path):
    runtime = yaml.safe_load(path.read_text())
    assert runtime["kind"] == "ClusterTrainingRuntime"
    assert runtime["metadata"]["name"] == path.stem
    framework = runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"]
    # The Python SDK lists only runtimes with a number of nodes.
    policy = dict(runtime["spec"]["mlPolicy"])
    assert policy.pop("numNodes") >= 1
    policies = {"plain": [], "torchtune": ["torch"], "deepspeed": ["mpi"], "mlx": ["mpi"]}
    assert list(policy) == policies.get(framework, [framework])
    trainers = [job for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]
                if job["template"].get("metadata", {}).get("labels", {}).get(ANCESTOR) == "trainer"]
    assert len(trainers) == 1
    containers = trainers[0]["template"]["spec"]["template"]["spec"]["containers"]
    assert "node" in [container["name"] for container in containers]
    assert all(re.search(r":[^:/]+$", container["image"]) for container in containers), "an image without a version"
