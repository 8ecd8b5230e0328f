"""Accounts and roles of an installation, beside others on one API server."""

import json

import yaml

from deployment import write_overlay

PUBLIC = "kubeflow-trainer-public"  # every account has it: tests/cluster/operations/manifests/test_overlays.py
OF_USERS = "kubeflow-trainer-"  # the beginning of the names of that role and of the roles of tests/cluster/security/test_users.py
FOR_SCRAPES = "signalbox-metrics-reader"  # is bound to accounts of others


def accounts_and_roles(plane, directory, namespaces=()):
    """Returns the programs' own of every component, with their bindings, in these namespaces or everywhere."""
    overlay = write_overlay(directory, ["self-signed", "bearer-tokens", "progress", "secure-metrics"], namespaces, base="base")
    found = yaml.load_all(plane.kubectl("kustomize", overlay), Loader=yaml.CSafeLoader)
    return [each for each in found if each["kind"] == "ServiceAccount"
            or "Role" in each["kind"] and not each["metadata"]["name"].startswith((OF_USERS, FOR_SCRAPES))]


def elsewhere(obj, name, spaces):
    """Returns the object for the installation of that name: an object in a namespace moves to the one that `spaces` has for it, and a
    cluster-scoped one gets another name."""
    text = json.dumps(obj)
    for before, after in spaces.items():
        text = text.replace(f'"{before}"', f'"{after}"')
    made = json.loads(text)
    if obj["kind"].startswith("ClusterRole"):
        made["metadata"]["name"] += f"-{name}"
    if obj["kind"] == "ClusterRoleBinding":
        made["roleRef"]["name"] += f"-{name}"
    return made


def system_of(name):
    """Returns the namespace of the programs."""
    return f"{name}-system"


def path_of(obj):
    namespace = f"/namespaces/{obj['metadata']['namespace']}" if "namespace" in obj["metadata"] else ""
    group = "api/v1" if obj["kind"] == "ServiceAccount" else "apis/rbac.authorization.k8s.io/v1"
    return f"/{group}{namespace}/{obj['kind'].lower()}s"
