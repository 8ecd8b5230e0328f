"""A webhook that requires bearer tokens, behind an API server that sends one and reviews those of others."""

import ssl
import urllib.error
import urllib.request

import pytest

from controlplane.releases import minor_of_kubernetes
from deployment import NAMESPACE
from jobs import runtime, train_job
from rest import ApiError, wait_for
from schema_server import ROOT, WebhookAlone

AUDIENCE = "signalbox-webhook"
CALLER = "api-server"  # the service account of the API server's token
PERMISSION = ROOT / "manifests" / "components" / "bearer-tokens" / "rbac.yaml"
PATH = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"


@pytest.fixture(scope="module")
def place(plane, rest, installed, token_file):
    """The API server and the webhook."""
    rest.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": CALLER, "namespace": NAMESPACE}})
    token_file.write_text(token(rest, CALLER, AUDIENCE))
    with WebhookAlone(plane, f"--token-audience={AUDIENCE}",
                      f"--token-users=system:serviceaccount:{NAMESPACE}:{CALLER}") as signalbox:
        yield plane, signalbox, rest
    plane.kubectl("delete", "-f", PERMISSION)


@pytest.fixture
def permission(place):
    place[0].kubectl("apply", "--server-side", "-f", PERMISSION)


def token(rest, account, *audiences, **also):
    request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {"name": account},
               "spec": {"audiences": list(audiences), "expirationSeconds": 3600, **also}}
    return rest.request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token", request)["status"]["token"]


def call(signalbox, bearer):
    """Returns status and text for a call with that token."""
    trust = ssl.create_default_context(cafile=signalbox.certificates / "ca.crt")
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
    request = urllib.request.Request(f"https://127.0.0.1:{signalbox.webhook.port_of('admission')}{PATH}", b"{}", headers)
    try:
        with urllib.request.urlopen(request, context=trust, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def answer(function):
    """Returns its result, or None if the API server denies the request."""
    try:
        return function()
    except ApiError:
        return None


def created(rest, obj):
    try:
        return rest.create(obj, dry_run=True)
    except ApiError as error:
        return str(error)


def test_without_the_permission_for_token_reviews_all_calls_are_rejected(place):
    _, signalbox, rest = place
    # That includes the API server's own calls.
    wait_for("the API server to call the webhook",
             lambda: "unable to handle the request" in str(created(rest, runtime())), interval=0.5)
    assert call(signalbox, token(rest, CALLER, AUDIENCE))[0] == 503
    assert "a permission is missing" in signalbox.webhook.text()
    assert signalbox.webhook.metric("signalbox_admission_requests_total", 'code="503"') > 0


def test_the_api_server_with_its_token_is_accepted(place, permission):
    _, signalbox, rest = place
    wait_for("the permission to be in force", lambda: isinstance(created(rest, runtime()), dict))
    rest.create(runtime())
    rest.create(train_job("welcome"))
    rest.delete("trainjobs", "welcome")
    refused = created(rest, train_job("nowhere", runtime_name="nowhere"))
    assert "spec.runtimeRef" in refused
    assert "eyJ" not in signalbox.webhook.text()  # the beginning of every such token


def test_tokens_for_others_or_of_others_are_refused(place, permission):
    _, signalbox, rest = place
    wait_for("the permission to be in force", lambda: call(signalbox, token(rest, CALLER, AUDIENCE))[0] == 400)
    own = "https://kubernetes.default.svc"
    assert call(signalbox, token(rest, CALLER, own))[0] == 401
    assert call(signalbox, token(rest, CALLER, AUDIENCE, own))[0] == 400
    assert call(signalbox, token(rest, "signalbox-webhook", AUDIENCE)) == (403, "this user may not call\n")
    good = token(rest, CALLER, AUDIENCE)
    for bearer in (None, "made-up", good[:-8] + "AAAAAAAA", good.rpartition(".")[0] + "."):
        assert call(signalbox, bearer) == (401, "a valid bearer token is needed\n")


@pytest.mark.skipif(minor_of_kubernetes() < 37, reason="the feature gate APIServerWebhookAuthenticationToken came with Kubernetes 1.37")
def test_tokens_that_are_bound_to_a_webhook_configuration_count_for_their_audience(place, permission):
    _, signalbox, rest = place
    name = "validator.trainer.kubeflow.org"
    configuration = rest.request("GET", f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}")
    url = next(hook["clientConfig"]["url"] for hook in configuration["webhooks"] if hook["clientConfig"]["url"].endswith(PATH))
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rest.request("POST", f"{roles}/clusterroles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "attest"}, "rules": [
            {"apiGroups": ["authentication.k8s.io"], "resources": ["admissionReviewAPIGroups"], "verbs": ["attest"],
             "resourceNames": ["*", "trainer.kubeflow.org"]}]})
    rest.request("POST", f"{roles}/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "attest"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "attest"},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": CALLER}]})

    def bound(group, audience):
        return token(rest, CALLER, audience, attestations={"admissionReviewAPIGroups": [group]}, boundObjectRef={
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "name": name})
    every_group = wait_for("the right to attest", lambda: answer(lambda: bound("*", AUDIENCE)))
    wait_for("the permission to be in force", lambda: call(signalbox, every_group)[0] == 400)
    # One for a group of its own has the address of one of its webhooks as audience.
    with pytest.raises(ApiError, match="token request denied"):
        bound("trainer.kubeflow.org", AUDIENCE)
    assert call(signalbox, bound("trainer.kubeflow.org", url))[0] == 401


def test_a_token_of_an_account_that_is_deleted_ends_soon(place, permission):
    _, signalbox, rest = place
    good = token(rest, CALLER, AUDIENCE)
    wait_for("the permission to be in force", lambda: call(signalbox, good)[0] == 400)
    rest.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{CALLER}")
    wait_for("it to be refused", lambda: call(signalbox, good)[0] == 401, timeout=30)
