"""The webhook configurations, field by field: clients, other webhooks and an installed Kubeflow Trainer depend on each."""

import pytest

from schema_server import ROOT, build

PATH = "/{action}-trainer-kubeflow-org-v1alpha1-{kind}"
OPT_OUT = {"matchExpressions": [
    {"key": "trainer.kubeflow.org/webhook-validation", "operator": "NotIn", "values": ["disabled"]}]}
# The stored object decides: a request cannot pretend that an object is being deleted, nor hide it.
STAYS = {"name": "is-not-being-deleted", "expression": "oldObject == null || !has(oldObject.metadata.deletionTimestamp)"}


def webhook(action, kind, **more):
    name = "defaulter" if action == "mutate" else "validator"
    return {
        "name": f"{name}.{kind}.trainer.kubeflow.org",
        "clientConfig": {"service": {"name": "signalbox-webhook", "namespace": "kubeflow-system",
                                     "path": PATH.format(action=action, kind=kind)}},
        "rules": [{"apiGroups": ["trainer.kubeflow.org"], "apiVersions": ["v1alpha1"],
                   "operations": ["CREATE", "UPDATE"], "resources": [kind + "s"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
        "matchConditions": [STAYS],
        **more,
    }


def deletion(kind):
    """Returns the webhook for deletions, which only warns."""
    asked = webhook("validate", kind, objectSelector=OPT_OUT, failurePolicy="Ignore", timeoutSeconds=2)
    asked["rules"][0]["operations"] = ["DELETE"]
    del asked["matchConditions"]
    return {**asked, "name": f"deletion.{kind}.trainer.kubeflow.org"}


WANT = {
    ("MutatingWebhookConfiguration", "defaulter.trainer.kubeflow.org"): [
        webhook("mutate", "trainjob", reinvocationPolicy="IfNeeded")],
    ("ValidatingWebhookConfiguration", "validator.trainer.kubeflow.org"): [
        webhook("validate", "clustertrainingruntime", objectSelector=OPT_OUT),
        webhook("validate", "trainingruntime", objectSelector=OPT_OUT),
        webhook("validate", "trainjob"),
        deletion("trainingruntime"), deletion("clustertrainingruntime")],
}
# Defaults of the API server; Signalbox depends on the scope and on the Service's port.
DEFAULTS = {"namespaceSelector": {}, "objectSelector": {}}


@pytest.fixture(scope="module")
def configurations(plane):
    return [obj for obj in build(plane, ROOT / "manifests" / "base") if "Webhook" in obj["kind"]]


def test_the_files(configurations):
    assert {(obj["kind"], obj["metadata"]["name"]): obj["webhooks"] for obj in configurations} == WANT


def test_the_api_server_accepts_them_as_they_are(rest, configurations):
    for obj in configurations:
        plural = obj["kind"].lower() + "s"
        stored = rest.request("POST", f"/apis/admissionregistration.k8s.io/v1/{plural}?dryRun=All", obj)
        for got, want in zip(stored["webhooks"], obj["webhooks"], strict=True):
            assert got["clientConfig"]["service"]["port"] == 443
            assert got["rules"][0].pop("scope") == "*"
            del got["clientConfig"]["service"]["port"]
            assert got == {**DEFAULTS, **want}
