"""PodGroups of the two gang schedulers, as kinds of the test bed's API server."""

import json

import yaml

from controlplane.binaries import build_coscheduling
from rest import wait_for

GROUPS = {
    "coscheduling": ("scheduling.x-k8s.io", "v1alpha1"),
    "volcano": ("scheduling.volcano.sh", "v1beta1"),
}


def install_pod_groups(rest):
    file = build_coscheduling() / "coscheduling-config" / "coscheduling" / "crd.yaml"
    for definition in (yaml.safe_load(file.read_text()), _volcano(*GROUPS["volcano"])):
        rest.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    for group, version in GROUPS.values():
        wait_for(f"PodGroups of {group}", lambda: _served(rest, group, version))


def path_of_pod_group(policy, name, namespace="default"):
    group, version = GROUPS[policy]
    return f"/apis/{group}/{version}/namespaces/{namespace}/podgroups" + (f"/{name}" if name else "")


def said_of(signalbox, group):
    """Returns the lines about the PodGroups of an API group in the reconciler's log. It logs nothing twice."""
    lines = [json.loads(line) for line in signalbox.reconciler.text().splitlines() if f"podgroups.{group}" in line]
    said = [line["msg"] for line in lines if line.get("resource") == f"podgroups.{group}"]
    assert len(said) == len(set(said))
    return set(said)


def _volcano(group, version):
    """Returns a CRD with the fields, types, defaults and values of Volcano's, by the types of volcano.sh/apis 1.12. Others are pruned."""
    integer, text = {"type": "integer", "format": "int32"}, {"type": "string"}
    quantity = {"anyOf": [{"type": "integer"}, text], "x-kubernetes-int-or-string": True}
    spec = {"type": "object", "properties": {
        "minMember": integer, "minTaskMember": {"type": "object", "additionalProperties": integer},
        "minResources": {"type": "object", "additionalProperties": quantity},
        "queue": {**text, "default": "default"}, "priorityClassName": text,
        "networkTopology": {"type": "object", "properties": {
            "mode": {**text, "enum": ["hard", "soft"], "default": "hard"}, "highestTierAllowed": {"type": "integer", "default": 1}}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{group}",
                     "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": group, "scope": "Namespaced",
                 "names": {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
                 "versions": [{"name": version, "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]}}


def _served(rest, group, version):
    try:
        return rest.request("GET", f"/apis/{group}/{version}/namespaces/default/podgroups")["items"] is not None
    except Exception:  # 404 until the API server serves the kind
        return False
