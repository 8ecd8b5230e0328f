"""Joins two control planes with Kueue as a manager cluster of MultiKueue and its worker cluster."""

import base64
import contextlib
import json

from controlplane.kueue import NAMESPACE
from queues import KUEUE_API

NAME = "worker"  # of the worker cluster, and of each object that describes it
_ACCOUNT = "multikueue"
_ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]
# What Kueue's manager does in a worker cluster, for each of controlplane.kueue.FRAMEWORKS.
_RULES = [
    *({"apiGroups": [group], "resources": [kind], "verbs": _ALL} for group, kind in (
        ("kueue.x-k8s.io", "workloads"), ("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"), ("trainer.kubeflow.org", "trainjobs"), ("", "pods"))),
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads/status"], "verbs": ["get", "patch", "update"]},
]


@contextlib.contextmanager
def joined(manager, worker):
    """Lets Kueue on the control plane `manager` dispatch to the control plane `worker`, inside the context. The value is the name of
    the AdmissionCheck for this, which is active."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME, "namespace": NAMESPACE},
              "stringData": {"kubeconfig": json.dumps(_kubeconfig(worker))}}
    objects = [
        _kueue("MultiKueueCluster", {"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": NAME}}}),
        _kueue("MultiKueueConfig", {"clusters": [NAME]}),
        _kueue("AdmissionCheck", {"controllerName": "kueue.x-k8s.io/multikueue",
                                  "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": NAME}})]
    _send(manager, ["create", "--validate=false"], [secret, *objects])
    manager.kubectl("wait", "--for=condition=Active", "--timeout=60s", f"admissioncheck/{NAME}")
    yield NAME
    _send(manager, ["delete", "--wait=false"], objects)


def _kubeconfig(worker):
    """Returns the kubeconfig of a service account for the manager. Kueue takes none that refers to files."""
    account = {"name": _ACCOUNT, "namespace": NAMESPACE}
    role = {"kind": "ClusterRole", "name": _ACCOUNT, "apiGroup": "rbac.authorization.k8s.io"}
    _send(worker, ["create", "--validate=false"], [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": _ACCOUNT}, "rules": _RULES},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": _ACCOUNT}, "roleRef": role,
         "subjects": [{"kind": "ServiceAccount", **account}]}])
    authority = base64.b64encode(worker.ca_file.read_bytes()).decode()
    return {"apiVersion": "v1", "kind": "Config", "current-context": NAME,
            "clusters": [{"name": NAME, "cluster": {"server": worker.server, "certificate-authority-data": authority}}],
            "users": [{"name": NAME, "user": {"token": worker.service_account_token(NAMESPACE, _ACCOUNT)}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}]}


def _kueue(kind, spec):
    return {"apiVersion": KUEUE_API, "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def _send(plane, command, objects):
    plane.kubectl(*command, "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
