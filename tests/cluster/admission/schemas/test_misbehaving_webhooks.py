"""The API server's reaction to invalid or unusual responses of a webhook: the reasons for the form of Signalbox's responses. A
server in Python stands for the webhook. Each row has a webhook for each failure policy, which receives the objects with its
label."""

import base64
import dataclasses
import json
import subprocess
import threading
from typing import Callable

import pytest

from paths import ROOT
from rest import ApiError, path_of, wait_for
from tls_webhook import TlsWebhook

ROW = "signalbox.test/row"
POLICIES = ("Fail", "Ignore")
LET_THROUGH = (201, 201)
FAILED = (500, 201)


@dataclasses.dataclass
class Row:
    """The webhook's response to a request, and the API server's codes under the two policies."""

    name: str
    answer: Callable  # of the webhook: (request) -> (status, headers, body), or None
    codes: tuple = FAILED
    kinds: tuple = ("Validating", "Mutating")
    text: str = "failed calling webhook"  # begins the message of a failure


def say(body, status=200, **headers):
    return status, headers, body if isinstance(body, bytes) else json.dumps(body).encode()


def review(request, **response):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": request["uid"], "allowed": True, **response}}


def answers(**response):
    return lambda request: say(review(request, **response))


def envelope(**members):
    return lambda request: say({**review(request), **members})


def encoded(patch):
    return base64.b64encode(patch if isinstance(patch, bytes) else json.dumps(patch).encode()).decode()


def patches(*operations):
    return answers(patch=encoded(list(operations)), patchType="JSONPatch")


LABEL = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
MUTATING, VALIDATING = ("Mutating",), ("Validating",)
END = threading.Event()
# The label of a validating webhook for which each test chooses a response.
VERDICT = "verdict"

ROWS = [
    Row("allowed", answers(), LET_THROUGH),
    Row("the media type is not looked at", lambda request: say(review(request), **{"Content-Type": "text/plain"}), LET_THROUGH),
    Row("http 201", lambda request: say(review(request), 201), LET_THROUGH),
    Row("no connection", None),
    Row("end of the connection", lambda request: None),
    Row("timeout", lambda request: END.wait(20) and None),
    *(Row(f"http {status}", lambda request, status=status: say(review(request), status)) for status in
      (204, 400, 404, 429, 500, 503)),
    Row("a redirect", lambda request: say(b"", 307, Location="/elsewhere")),
    Row("empty", lambda request: say(b"")),
    Row("no json", lambda request: say(b'{"apiVersion": ')),
    Row("no object", lambda request: say(b"[]")),
    Row("no response", lambda request: say({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})),
    Row("wrong uid", answers(uid="another")),
    Row("no uid", answers(uid=None)),
    Row("wrong kind", envelope(kind="Review")),
    Row("wrong version", envelope(apiVersion="admission.k8s.io/v1beta1")),
    Row("no version", envelope(apiVersion="")),
    Row("patch without its type", answers(patch=encoded([LABEL])), kinds=MUTATING),
    Row("type without its patch", answers(patchType="JSONPatch"), kinds=MUTATING),
    Row("unknown type of patch", answers(patch=encoded([LABEL]), patchType="MergePatch"), kinds=MUTATING),
    Row("bad base64", answers(patch="*", patchType="JSONPatch"), kinds=MUTATING),
    Row("base64 without padding", answers(patch=encoded([LABEL, LABEL]).rstrip("="), patchType="JSONPatch"), kinds=MUTATING),
    Row("undecodable patch", answers(patch=encoded(b"{}"), patchType="JSONPatch"), kinds=MUTATING),
    Row("a patch of a validating webhook", patches(LABEL), kinds=VALIDATING),
    Row("a patch that applies", patches(LABEL), LET_THROUGH, MUTATING),
    # The policy does not matter: the webhook has answered.
    Row("a patch that does not apply", patches({"op": "remove", "path": "/spec/missing"}), (500, 500), MUTATING, ""),
    Row("a patch to an invalid value", patches({"op": "add", "path": "/spec/ttlSecondsAfterFinished", "value": -1}), (422, 422),
        MUTATING, "ClusterTrainingRuntime.trainer.kubeflow.org"),
    Row("a patch with an unknown field", patches({"op": "add", "path": "/spec/unknown", "value": 1}), LET_THROUGH, MUTATING),
    Row("denied", answers(allowed=False, status={"code": 409, "message": "not today"}), (409, 409), text="admission webhook"),
    Row("denied without a status", answers(allowed=False), (400, 400), text="admission webhook"),
    Row("denied with a code of success", answers(allowed=False, status={"code": 200}), (400, 400), text="admission webhook"),
]
CASES = [(kind, row) for row in ROWS for kind in row.kinds]


def label_of(row, policy):
    return f"{row.name.replace(' ', '-')}.{policy.lower()}"


def runtime(label):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "runtime", "labels": {ROW: label}}, "spec": {"ttlSecondsAfterFinished": 1}}


class Hooks:
    """The server, and by label the responses of tests that are no rows."""

    def __init__(self, certificates):
        self.by_label = {label_of(row, policy): row.answer for row in ROWS for policy in POLICIES}
        self.server = TlsWebhook(certificates, self._answer)
        self.bundle = base64.b64encode((certificates / "ca.crt").read_bytes()).decode()
        self._closed = TlsWebhook(certificates, self._answer)
        self._closed.close()

    def _answer(self, path, body):
        if not body:
            return say(b"", 404)
        return self.by_label[path.split("/")[-1]](json.loads(body)["request"])

    def calls_of(self, label):
        return [method for method, path in self.server.requests if path.split("/")[-1] == label]

    def configuration(self, kind, labels):
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": f"misbehaving-{kind.lower()}"},
                "webhooks": [self._hook(kind, label) for label in labels]}

    def _hook(self, kind, label):
        port = self._closed.port if label.startswith("no-connection") else self.server.port
        return {"name": f"{label.replace('.', '-')}.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Ignore" if label.endswith(".ignore") else "Fail",
                "timeoutSeconds": 1 if label.startswith("timeout") else 10,
                "clientConfig": {"url": f"https://127.0.0.1:{port}/{kind}/{label}", "caBundle": self.bundle},
                "objectSelector": {"matchLabels": {ROW: label}},
                "rules": [{"apiGroups": ["trainer.kubeflow.org"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"],
                           "resources": ["clustertrainingruntimes"]}]}


@pytest.fixture(scope="module")
def hooks(rest, tmp_path_factory):
    certificates = tmp_path_factory.mktemp("misbehaving") / "certs"
    subprocess.run([ROOT / "certs" / "make-development-certificates", "--out", certificates, "--ip", "127.0.0.1"], check=True,
                   capture_output=True)
    hooks = Hooks(certificates)
    paths = []
    try:
        for kind in ("Validating", "Mutating"):
            labels = [label_of(row, policy) for row in ROWS if kind in row.kinds for policy in POLICIES]
            labels += [VERDICT] if kind == "Validating" else []
            path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations"
            rest.request("POST", path, hooks.configuration(kind, labels))
            paths.append(f"{path}/misbehaving-{kind.lower()}")
        allowed = label_of(ROWS[0], "Fail")
        def both_are_asked():
            hooks.server.requests.clear()
            send(rest, allowed)
            return len(hooks.calls_of(allowed)) == 2
        wait_for("the API server to call both webhooks", both_are_asked)
        yield hooks
    finally:
        END.set()
        for path in paths:
            rest.request("DELETE", path)
        hooks.server.close()


def send(rest, label):
    """Returns status, object and warnings of a create that stores nothing."""
    connection = rest.connection()
    try:
        connection.request("POST", path_of("clustertrainingruntimes", "") + "?dryRun=All", json.dumps(runtime(label)),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        warnings = [value.split(" ", 2)[2].strip('"') for name, value in response.getheaders() if name == "Warning"]
        return response.status, json.loads(response.read()), warnings
    finally:
        connection.close()


@pytest.mark.parametrize("kind, row", CASES, ids=[f"{kind.lower()}: {row.name}" for kind, row in CASES])
def test_the_api_server_takes_it_as_expected(rest, hooks, kind, row):
    for policy, code in zip(POLICIES, row.codes):
        got, answer, _ = send(rest, label_of(row, policy))
        assert got == code, f"{policy}: {answer}"
        if code >= 400:
            assert answer["message"].startswith(("Internal error occurred: " if code == 500 else "") + row.text), answer
        else:
            assert answer["spec"] == {"ttlSecondsAfterFinished": 1}


def test_patches_change_the_object(rest, hooks):
    assert send(rest, label_of(Row("a patch that applies", None), "Fail"))[1]["metadata"]["labels"]["a"] == "b"


@pytest.mark.parametrize("status, headers, methods", [
    (503, {}, ["POST"]),
    (503, {"Retry-After": 0}, ["POST"] * 11),
    (429, {"Retry-After": 0}, ["POST"] * 11),
    (307, {"Location": "/elsewhere/" + VERDICT}, ["POST"] * 10),  # a redirect to itself
    (302, {"Location": "/elsewhere/" + VERDICT}, ["POST", "GET"]),
])
def test_retry_after_and_redirects_make_further_calls(rest, hooks, status, headers, methods):
    label = VERDICT
    hooks.by_label[label] = lambda request: say(b"", status, **headers)
    hooks.server.requests.clear()
    assert send(rest, label)[0] == 500
    assert hooks.calls_of(label) == methods


def test_a_denial_reaches_the_client_as_it_was_sent(rest, hooks):
    causes = [{"reason": "FieldValueForbidden", "field": "spec.a[0].b", "message": 'Forbidden: "no" is not <yes>'},
              {"reason": "FieldValueInvalid", "field": "metadata.name", "message": "Invalid value: \u00e4"}]
    details = {"group": "trainer.kubeflow.org", "kind": "TrainJob", "name": "job", "causes": causes}
    status = {"code": 422, "reason": "Invalid", "message": 'TrainJob.trainer.kubeflow.org "job" is invalid', "details": details}
    hooks.by_label[VERDICT] = answers(allowed=False, status=status, warnings=["spec.x has no effect"])
    code, answer, warnings = send(rest, VERDICT)
    assert (code, answer["reason"], answer["details"]) == (422, "Invalid", details)
    assert answer["message"] == f'admission webhook "verdict.example.com" denied the request: {status["message"]}'
    assert warnings == ["spec.x has no effect"], "also with a denial"


@pytest.mark.parametrize("sent, got", [
    (["w" * 256], ["w" * 256]),
    (["w" * 300], ["w" * 300]),
    (["a", "", "a", "b\nc", "b"], ["a", "b"]),
    ([f"{i:04}" + "w" * 252 for i in range(16)], [f"{i:04}" + "w" * 252 for i in range(16)]),
    ([f"{i:04}" + "w" * 253 for i in range(16)], [f"{i:04}" + "w" * 252 for i in range(16)]),
    ([f"{i:04}" + "w" * 116 for i in range(40)], [f"{i:04}" + "w" * 116 for i in range(35)]),
])
def test_warnings_are_cut_once_they_are_too_many(rest, hooks, sent, got):
    hooks.by_label[VERDICT] = answers(warnings=sent)
    assert send(rest, VERDICT)[2] == got
