"""The checked-in CRDs: generated from crds-source and from the control plane's types, of the expected size and shape."""

import json
import os
import re
import subprocess

import crdgen
import pytest
import yaml

from paths import ROOT
from rest import Rest

CRDS = ROOT / "manifests" / "base" / "crds"
PLURALS = ["clustertrainingruntimes", "trainingruntimes", "trainjobs"]
# etcd stores an API object of up to 1.5 MiB; the annotation that client-side apply writes may have 256 KiB.
ANNOTATION_LIMIT = 262144
# Properties, list items and map values. A change means that a field was added or removed, here or in an embedded type. Kubeflow
# Trainer has 1462, 1462 and 789; the difference is what Signalbox adds and leaves out.
NODES = {"clustertrainingruntimes": 1513, "trainingruntimes": 1513, "trainjobs": 831}


def crd(plural):
    return yaml.load((CRDS / f"{plural}.yaml").read_text(), Loader=yaml.CSafeLoader)


def schema_of(document):
    return document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def nodes(schema):
    """Yields all schemas within a schema, including itself."""
    yield schema
    children = list(schema.get("properties", {}).values())
    children += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for child in children:
        yield from nodes(child)


@pytest.fixture(scope="module")
def jobset_crd(plane):
    return json.loads(plane.kubectl("get", "crd", "jobsets.jobset.x-k8s.io", "-o", "json"))


def test_generating_them_again_changes_nothing(plane):
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
    run = subprocess.run([ROOT / "scripts" / "generate-crds", "--check", "--kubectl", plane.kubectl_path], env=environment,
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_generator_says_what_is_missing(tmp_path, plane):
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "none")}
    run = subprocess.run([ROOT / "scripts" / "generate-crds", "--kubectl", plane.kubectl_path], env=environment,
                         capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("cannot read JobSet's CRD, is KUBECONFIG set?")


@pytest.mark.parametrize("plural", PLURALS)
def test_size(plural):
    document = crd(plural)
    assert len(json.dumps(document, separators=(",", ":"))) < 100_000 < ANNOTATION_LIMIT
    assert sum(1 for _ in nodes(schema_of(document))) == NODES[plural]


@pytest.mark.parametrize("plural", PLURALS)
def test_unknown_fields_are_pruned_everywhere(plural):
    assert "x-kubernetes-preserve-unknown-fields" not in (CRDS / f"{plural}.yaml").read_text()


def test_both_runtime_kinds_share_one_spec():
    specs = [schema_of(crd(plural))["properties"]["spec"] for plural in ("trainingruntimes", "clustertrainingruntimes")]
    assert specs[0] == specs[1]


@pytest.mark.parametrize("plural", PLURALS)
def test_names(plural):
    spec = crd(plural)["spec"]
    kind = spec["names"]["kind"]
    for_users = {"shortNames": ["tj"], "categories": ["all", "kubeflow"]} if plural == "trainjobs" else {"categories": ["kubeflow"]}
    assert spec["names"] == {"kind": kind, "listKind": kind + "List", "plural": plural, "singular": kind.lower(), **for_users}
    assert spec["scope"] == ("Cluster" if plural.startswith("cluster") else "Namespaced")
    (version,) = spec["versions"]
    assert (spec["group"], version["name"], version["served"], version["storage"]) == (
        "trainer.kubeflow.org", "v1alpha1", True, True)
    assert version.get("subresources") == ({"status": {}} if plural == "trainjobs" else None)


def test_every_field_of_ours_is_described(jobset_crd):
    kinds, definitions, locations = crdgen.load_sources()
    builder = crdgen.Builder(definitions, locations, crdgen.storage_schema(jobset_crd))
    silent = []

    def look(name, schema):
        for field, value in schema.get("properties", {}).items():
            # A description of its own wins, and then the embedded types need no look.
            if not (value if "description" in value else builder.resolve(value)).get("description"):
                silent.append(f"{name}.{field}")
            look(f"{name}.{field}", value)
        if isinstance(schema.get("items"), dict):
            look(f"{name}[]", schema["items"])

    for name, schema in [*definitions.items(), *((kind["kind"], kind["schema"]) for kind in kinds)]:
        look(name, schema)
    assert not silent


# Of Pods of Kubernetes 1.37, which JobSet 0.12 does not have. All are alpha there, and off by default.
LATER = re.compile(r"httpGet\.protocol|grpc\.mode|bindMountOptions|evictionResponders|emptyDir\.mode|volumes\[\]\..*(user|defaultUser)$")


def test_jobset_knows_every_field_of_the_api_servers_pods(plane, jobset_crd):
    """The Pod types come from JobSet's CRD. A JobSet that lags behind Kubernetes would hide new fields."""
    schemas = Rest(plane.kubeconfig).request("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    ours = crdgen.node_at(crdgen.storage_schema(jobset_crd), "spec.replicatedJobs[].template.spec.template.spec")
    missing = []

    def resolved(schema):
        reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", []) if "$ref" in part), None)
        return schemas[reference.rsplit("/", 1)[1]] if reference else schema

    def compare(path, there, here):
        there = resolved(there)
        if path.endswith("volumeClaimTemplate.metadata"):
            return  # every CRD has reduced embedded metadata
        for field, value in there.get("properties", {}).items():
            if field in here.get("properties", {}):
                compare(f"{path}.{field}", value, here["properties"][field])
            else:
                missing.append(f"{path}.{field}")
        if "items" in there:
            compare(f"{path}[]", there["items"], here["items"])

    compare("pod.spec", {"$ref": "/io.k8s.api.core.v1.PodSpec"}, ours)
    assert not [path for path in missing if not LATER.search(path)]
