"""`kubectl trainjob explain` names the webhook, the policy or the quota that keeps a TrainJob from its Pods, on the real control plane and with
a plain user's role."""

import base64
import json
import shutil

import pytest

import documents
from jobs import runtime, train_job
from rest import ApiError, wait_for
from tls_webhook import TlsWebhook

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
WORDS = "no GPUs for this team at night"


@pytest.fixture
def webhook(cluster, admin, rest, namespace, tmp_path):
    """A webhook that denies all Pods of the test's namespace, and JobSets of the name "locked"."""
    certificate, key = cluster.authority.issue("policy", "policy", hosts=["127.0.0.1"])
    shutil.copy(certificate, tmp_path / "tls.crt")
    shutil.copy(key, tmp_path / "tls.key")

    def answer(path, body):
        request = json.loads(body)["request"]
        denied = request["kind"]["kind"] == "Pod" or request["object"]["metadata"].get("name") == "locked"
        response = {"uid": request["uid"], "allowed": not denied, **({"status": {"message": WORDS}} if denied else {})}
        return 200, {}, json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()
    server = TlsWebhook(tmp_path, answer)
    path, name = f"{ADMISSION}/validatingwebhookconfigurations", f"gpus-{namespace}"
    admin.request("POST", path, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name},
        "webhooks": [{"name": "gpus.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                      "clientConfig": {"url": f"https://127.0.0.1:{server.port}/", "caBundle": ca_bundle(cluster)},
                      "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                      "rules": [{"apiGroups": ["", "jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"],
                                 "resources": ["pods", "jobsets"]}]}]})
    try:
        wait_for("the API server to call the webhook", lambda: is_denied(rest))
        yield
    finally:
        admin.request("DELETE", f"{path}/{name}")
        server.close()


def ca_bundle(cluster):
    return base64.b64encode(cluster.authority.cert.read_bytes()).decode()


def is_denied(rest):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": "registry.example.com/a:1"}]}}
    try:
        rest.request("POST", f"{rest.path('pods')}?dryRun=All", pod)
        return False
    except ApiError as error:
        return WORDS in str(error)


def shows(viewer, name, line):
    """Waits until explain has the line, and returns the same as a document for programs."""
    def has_line():
        text = viewer("explain", name).stdout
        return line in text.splitlines()
    wait_for(line, has_line)
    document = json.loads(viewer("explain", name, "-o", "json").stdout)
    documents.require_valid(document, "explanation")
    return document["refused"]


def test_a_webhook_is_named_that_refuses_the_job_set_or_its_pods(signalbox, rest, namespace, user, webhook):
    viewer = user("view")
    rest.create(runtime())
    rest.create(train_job("locked"))
    rest.create(train_job("podless"))
    assert shows(viewer, "locked", f"Refused   JobSet {namespace}/locked, by the webhook gpus.example.com: {WORDS}") == [
        {"object": f"JobSet {namespace}/locked", "by": "webhook", "name": "gpus.example.com", "message": WORDS}]
    shows(viewer, "podless", f"Refused   Pods of Job podless-node-0, by the webhook gpus.example.com: {WORDS}")


def test_a_quota_and_a_policy_are_named_that_refuse_pods(signalbox, rest, namespace, user, kubectl):
    viewer = user("view")
    rest.create(runtime())
    rest.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"count/pods": "0"}}})
    wait_for("the quota to count", lambda: rest.get("resourcequotas", "few").get("status", {}).get("used"))
    rest.create(train_job("poor"))
    shows(viewer, "poor", "Refused   Pods of Job poor-node-0, by the ResourceQuota few: requested: count/pods=1, used: count/pods=0, limited: "
                          "count/pods=0")
    text = viewer("explain", "poor").stdout
    assert "Job poor-node-0  FailedCreate" in text and "Pods      none" in text
    # Pods were created since: the refusal is over, although its event is still there.
    rest.delete("resourcequotas", "few")
    wait_for("the Pod", lambda: rest.list("pods"), timeout=60)
    wait_for("the end of the refusal", lambda: "Refused" not in viewer("explain", "poor").stdout)
    assert "exceeded quota: few" in viewer("explain", "poor").stdout

    # The API server enforces it at once.
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    rest.create(train_job("loose"))
    line = wait_for("the level", lambda: next((line for line in viewer("explain", "loose").stdout.splitlines() if line.startswith("Refused")), None))
    assert line.startswith("Refused   Pods of Job loose-node-0, by the namespace's PodSecurity level restricted:latest: allowPrivilegeEscalation")


def test_a_missing_priority_class_and_a_default_limit_below_the_request_are_named(signalbox, rest, namespace, user):
    viewer = user("view")
    for name, part in (("urgent", {"priorityClassName": f"high-{namespace}"}), ("large", {})):
        made = runtime(name, "TrainingRuntime")
        pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod |= part
        pod["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
        rest.create(made)
    rest.create(train_job("hasty", "urgent", "TrainingRuntime"))
    wait = f"Refused   Pods of Job hasty-node-0, because the PriorityClass high-{namespace} does not exist"
    assert shows(viewer, "hasty", wait)[0]["by"] == "missingObject"
    rest.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "1"}}]}})
    rest.create(train_job("hungry", "large", "TrainingRuntime"))
    assert shows(viewer, "hungry", "Refused   Pods of Job hungry-node-0, by the limit that a LimitRange sets where there is none: "
                 'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1')[0]["by"] == "defaultLimit"
