"""Helpers for tests of base/account-policy.yaml: objects as Signalbox's accounts create them, and denials by the policy."""

import pytest

from paths import ROOT
from rest import ApiError

POLICY = ROOT / "manifests" / "base" / "account-policy.yaml"
MANAGER = "fieldManager=trainer"  # api::field_manager
OWNER = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job", "controller": True,
         "uid": "5a5ca027-df0f-44ad-9d2f-74cb0a848a91"}
ANOTHER = {**OWNER, "apiVersion": "apps/v1", "kind": "Deployment"}
JOB_SET = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
    "restartPolicy": "Never", "containers": [{"name": "node", "image": "registry.example.com/any:1"}]}}}}}]}
# Metadata of other controllers.
METADATA = {"labels": {"app.kubernetes.io/part-of": "any"}, "annotations": {"example.com/any": "yes"},
            "finalizers": ["example.com/of-others"]}
PATH = {"JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets", "Secret": "/api/v1/namespaces/{}/secrets",
        "ConfigMap": "/api/v1/namespaces/{}/configmaps", "Event": "/api/v1/namespaces/{}/events",
        "Job": "/apis/batch/v1/namespaces/{}/jobs", "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
        "PodGroup": "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups",
        "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
        "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
        "NativePodGroup": "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups"}  # of Kubernetes' own scheduler
IN_USE = "trainer.kubeflow.org/resource-in-use"  # the finalizer of older controllers
BY_POLICY = "ValidatingAdmissionPolicy 'signalbox-accounts'"
OF_OURS = "ValidatingAdmissionPolicy 'signalbox-(accounts|progress-account)'"


def obj(kind, name, owners=(OWNER,), **fields):
    versions = {"JobSet": "jobset.x-k8s.io/v1alpha2", "Job": "batch/v1", "Lease": "coordination.k8s.io/v1",
                "PodGroup": "scheduling.x-k8s.io/v1alpha1", "NativePodGroup": "scheduling.k8s.io/v1beta1",
                "PodDisruptionBudget": "policy/v1", "NetworkPolicy": "networking.k8s.io/v1"}
    if kind == "JobSet":
        fields.setdefault("spec", JOB_SET)
    pods = {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": name}}
    if kind == "PodDisruptionBudget":
        fields.setdefault("spec", {"minAvailable": 2, "selector": pods})
    if kind == "NetworkPolicy":
        fields.setdefault("spec", {"podSelector": pods, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": pods}]}]})
    if kind == "NativePodGroup":
        fields.setdefault("spec", {"schedulingPolicy": {"gang": {"minCount": 2}}})
    metadata = {"name": name, "ownerReferences": list(owners), "annotations": fields.pop("annotations", {}),
                **fields.pop("metadata", {})}
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind.removeprefix("Native"), "metadata": metadata, **fields}


def collection_of(what, namespace="default"):
    """Returns the path of the collection of an object."""
    kind = "NativePodGroup" if what["apiVersion"].startswith("scheduling.k8s.io/") else what["kind"]
    return PATH[kind].format(namespace)


def create(client, what, namespace="default"):
    return client.request("POST", collection_of(what, namespace) + "?dryRun=All", what)


def merge_patch(client, path, change):
    return client.request("PATCH", path, change, "application/merge-patch+json")


def apply(client, path, what, manager):
    """Applies with a manager that takes over fields of others."""
    return client.request("PATCH", f"{path}?fieldManager={manager}&force=true", what, "application/apply-patch+yaml")


def refused(act):
    with pytest.raises(ApiError, match=OF_OURS) as refusal:
        act()
    assert refusal.value.code == 403, "the code by which the reconciler recognizes a denial"
    return True


def is_allowed(act):
    """Returns whether roles allow it."""
    try:
        act()
    except ApiError as error:
        assert "cannot" in str(error)  # the authorizer's message
        return False
    return True
