"""The writes for which the API server calls the webhook, and the contents of the requests, with the installed configurations. A
server that allows everything stands for the webhook."""

import base64
import copy
import json
import subprocess

import pytest

from schema_server import ROOT, build
from rest import ApiError, wait_for
from tls_webhook import TlsWebhook

TRAIN_JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "job", "namespace": "default", "finalizers": ["example.com/hold"]},
    "spec": {"runtimeRef": {"name": "torch-distributed"}},
}
OPT_OUT = {"trainer.kubeflow.org/webhook-validation": "disabled"}


def runtime(kind, **labels):
    metadata = {"name": "runtime", "labels": labels} | ({} if kind.startswith("Cluster") else {"namespace": "default"})
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": metadata,
            "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {}}]}}}}


class Webhook:
    """Allows everything and records the requests."""

    def __init__(self, certificates):
        self.asked = []
        self._server = TlsWebhook(certificates, self._answer)
        self.port = self._server.port
        self.close = self._server.close

    def _answer(self, path, body):
        request = json.loads(body)["request"]
        self.asked.append((path.split("-")[0].strip("/"), request))
        return 200, {}, json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                                    "response": {"uid": request["uid"], "allowed": True}}).encode()


def path_of_configuration(configuration):
    return f"/apis/admissionregistration.k8s.io/v1/{configuration['kind'].lower()}s"


@pytest.fixture(scope="module")
def webhook(plane, rest, tmp_path_factory):
    """Installs the configurations, with a URL instead of the Service."""
    certificates = tmp_path_factory.mktemp("webhook") / "certs"
    subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", certificates, "--ip", "127.0.0.1"], check=True,
                   capture_output=True)
    server = Webhook(certificates)
    bundle = base64.b64encode((certificates / "ca.crt").read_bytes()).decode()
    configurations = [obj for obj in build(plane, ROOT / "manifests" / "base") if "Webhook" in obj["kind"]]
    for configuration in configurations:
        for hook in configuration["webhooks"]:
            path = hook["clientConfig"].pop("service")["path"]
            hook["clientConfig"] |= {"url": f"https://127.0.0.1:{server.port}{path}", "caBundle": bundle}
        rest.request("POST", path_of_configuration(configuration), configuration)
    try:
        wait_for("the API server to call all of them", lambda: calls_of_probes(rest, server) == 4)
        yield server
    finally:
        for configuration in configurations:
            rest.request("DELETE", f"{path_of_configuration(configuration)}/{configuration['metadata']['name']}")
        wait_for("the API server to call none of them", lambda: calls_of_probes(rest, server) == 0)
        server.close()


def calls_of_probes(rest, server):
    server.asked.clear()
    for probe in (TRAIN_JOB, runtime("TrainingRuntime"), runtime("ClusterTrainingRuntime")):
        rest.create(copy.deepcopy(probe), dry_run=True)
    return len(server.asked)


@pytest.fixture
def job(rest, webhook):
    yield rest.create(copy.deepcopy(TRAIN_JOB))
    rest.patch("trainjobs", "job", {"metadata": {"finalizers": None}})
    rest.delete("trainjobs", "job")


def asked_during(webhook, act):
    """Returns the requests that it received during act(): which webhook, and the request."""
    webhook.asked.clear()
    act()
    return list(webhook.asked)


def names(asked):
    return [name for name, _ in asked]


def test_creating_changing_and_releasing_a_train_job_is_reviewed(rest, webhook, job):
    created = asked_during(webhook, lambda: rest.create({**TRAIN_JOB, "metadata": {"name": "b", "namespace": "default"}}))
    rest.delete("trainjobs", "b")
    assert [(name, request["operation"]) for name, request in created] == [("mutate", "CREATE"), ("validate", "CREATE")]
    assert created[1][1]["oldObject"] is None and created[1][1]["namespace"] == "default"
    for change in ({"spec": {"suspend": True}}, {"metadata": {"finalizers": None}}):
        changed = asked_during(webhook, lambda: rest.patch("trainjobs", "job", change))
        # The API server reviews a patch anew if another write came between.
        assert [(name, request["operation"]) for name, request in changed[-2:]] == [("mutate", "UPDATE"), ("validate", "UPDATE")]


def test_objects_are_complete_for_the_validating_webhook_only(rest, webhook):
    nameless = {**TRAIN_JOB, "metadata": {"generateName": "job-", "namespace": "default"}}
    (_, first), (_, second) = asked_during(
        webhook, lambda: rest.request("POST", "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs?dryRun=All", nameless))
    assert "name" not in first["object"]["metadata"]
    assert second["object"]["metadata"]["name"].startswith("job-")
    assert second["object"]["spec"]["managedBy"] == "trainer.kubeflow.org/trainjob-controller"


def test_writing_a_status_is_not_reviewed(rest, webhook, job):
    condition = {"type": "Created", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-15T10:00:00Z"}
    change = {"spec": {"suspend": True}, "status": {"conditions": [condition]}}
    stored = []
    assert asked_during(webhook, lambda: stored.append(rest.patch("trainjobs", "job", change, subresource="status"))) == []
    assert stored[0]["status"]["conditions"] == [condition] and stored[0]["spec"] == job["spec"]


def test_a_dry_run_is_reviewed_and_says_so(rest, webhook):
    asked = asked_during(webhook, lambda: rest.create(copy.deepcopy(TRAIN_JOB), dry_run=True))
    assert [(name, request["dryRun"]) for name, request in asked] == [("mutate", True), ("validate", True)]


@pytest.mark.parametrize("obj", [TRAIN_JOB, runtime("TrainingRuntime"), runtime("ClusterTrainingRuntime")], ids=lambda obj: obj["kind"])
def test_what_is_being_deleted_is_not_reviewed_whatever_a_request_says_of_it(rest, webhook, obj):
    plural, held = obj["kind"].lower() + "s", copy.deepcopy(obj)
    held["metadata"] |= {"name": "held", "finalizers": ["example.com/hold"]}
    pretended = {"deletionTimestamp": "2026-01-15T10:00:00Z"}
    assert asked_during(webhook, lambda: rest.create({**held, "metadata": {**held["metadata"], **pretended}})) != []
    with pytest.raises(ApiError, match="field is immutable"):
        rest.patch(plural, "held", {"metadata": pretended}, "default")
    rest.delete(plural, "held", "default")
    last = rest.get(plural, "held", "default")
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "finalizers"):
        del last["metadata"][name]
    assert asked_during(webhook, lambda: rest.replace(plural, last)) == []
    assert rest.get(plural, "held", "default") is None


def deleted(rest, plural, obj):
    created = rest.create(copy.deepcopy(obj))
    return lambda: rest.delete(plural, created["metadata"]["name"], created["metadata"].get("namespace", ""))


def test_deleting_a_train_job_is_not_reviewed(rest, webhook):
    delete = deleted(rest, "trainjobs", {**TRAIN_JOB, "metadata": {"name": "b", "namespace": "default"}})
    assert asked_during(webhook, delete) == []


@pytest.mark.parametrize("plural, kind", [("clustertrainingruntimes", "ClusterTrainingRuntime"), ("trainingruntimes", "TrainingRuntime")])
def test_deleting_a_runtime_is_reviewed_with_what_it_was(rest, webhook, plural, kind):
    ((name, request),) = asked_during(webhook, deleted(rest, plural, runtime(kind)))
    assert (name, request["operation"], request["object"], request["oldObject"]["kind"]) == ("validate", "DELETE", None, kind)


@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_runtimes_are_reviewed_and_only_the_namespaced_kind_has_a_namespace(rest, webhook, kind):
    ((name, request),) = asked_during(webhook, lambda: rest.create(runtime(kind), dry_run=True))
    assert (name, request["kind"]["kind"]) == ("validate", kind)
    assert request.get("namespace") == ("default" if kind == "TrainingRuntime" else None)


@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_a_label_takes_runtimes_out_of_the_review_but_putting_it_on_or_off_is_reviewed(rest, webhook, kind):
    plural, namespace = kind.lower() + "s", "" if kind.startswith("Cluster") else "default"
    labels = [("created without it", None, ["validate"]), ("still without", None, ["validate"]),
              ("put on", "disabled", ["validate"]), ("still on", "disabled", []),
              ("another value", "no", ["validate"]), ("taken off", None, ["validate"])]
    path = f"/apis/trainer.kubeflow.org/v1alpha1/{f'namespaces/{namespace}/' if namespace else ''}{plural}"
    try:
        for count, (what, value, want) in enumerate(labels):
            obj = runtime(kind, **({"trainer.kubeflow.org/webhook-validation": value} if value else {}))
            obj["spec"]["ttlSecondsAfterFinished"] = count
            if count:
                obj["metadata"]["resourceVersion"] = rest.request("GET", f"{path}/runtime")["metadata"]["resourceVersion"]
            write = ("PUT", f"{path}/runtime", obj) if count else ("POST", path, obj)
            assert names(asked_during(webhook, lambda: rest.request(*write))) == want, what
    finally:
        rest.delete(plural, "runtime", namespace)
    assert asked_during(webhook, lambda: rest.create(runtime(kind, **OPT_OUT), dry_run=True)) == []
