"""Removes what a test has installed from an API server without controllers, which is quicker than starting another one."""

import contextlib
import json

from rest import Rest, wait_for

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KINDS = ("mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,"
          "customresourcedefinitions,clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,deployments,services,configmaps,"
          "secrets,leases,networkpolicies,poddisruptionbudgets,resourcequotas,namespaces")


@contextlib.contextmanager
def emptied(plane):
    """After the context, the plane has the objects of these kinds that it had before it."""
    before = {each["metadata"]["uid"] for each in _objects(plane)}
    try:
        yield
    finally:
        made = [each for each in _objects(plane) if each["metadata"]["uid"] not in before]
        spaces = [each["metadata"]["name"] for each in made if each["kind"] == "Namespace"]
        _delete(plane, [each for each in made if each["kind"] != "Namespace"])
        client = Rest(plane.kubeconfig)
        # Only these have a finalizer, by which their objects go first.
        kinds = {each["metadata"]["name"] for each in made if each["kind"] == "CustomResourceDefinition"}
        wait_for("the kinds to go", lambda: not kinds & {each["metadata"]["name"] for each in client.request("GET", _CRDS)["items"]})
        for name in spaces:
            client.delete("namespaces", name)
            # Without the controller that would do it once the namespace is empty.
            found = client.get("namespaces", name)
            client.request("PUT", client.path("namespaces", name) + "/finalize", {**found, "spec": {"finalizers": []}})


def _objects(plane):
    return json.loads(plane.kubectl("get", _KINDS, "-A", "-o", "json"))["items"]


def _delete(plane, objects):
    named = [{"apiVersion": each["apiVersion"], "kind": each["kind"],
              "metadata": {key: value for key, value in each["metadata"].items() if key in ("name", "namespace")}} for each in objects]
    if named:
        plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-",
                      input=json.dumps({"apiVersion": "v1", "kind": "List", "items": named}))
