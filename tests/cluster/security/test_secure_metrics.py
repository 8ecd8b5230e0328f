"""Metrics with --metrics-secure, for accounts that the API server knows and lets get /metrics, with the roles of the component
secure-metrics."""

import ssl
import urllib.error
import urllib.request

import pytest

from deployment import NAMESPACE
from paths import ROOT
from rest import wait_for

COMPONENT = ROOT / "manifests" / "components" / "secure-metrics"
OPTIONS = ("--metrics-secure", "--metrics-listen=127.0.0.1:0")
ROLES = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def secure(installed, cluster, admin):
    """Both programs, and the tokens of an account with the role and of one without."""
    for file in ("rbac.yaml", "metrics-reader.yaml"):
        cluster.kubectl("apply", "--server-side", "-f", COMPONENT / file)
    tokens = {}
    for name in ("scraper", "stranger"):
        admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
        tokens[name] = cluster.service_account_token("default", name)
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "scraper"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "signalbox-metrics-reader"},
               "subjects": [{"kind": "ServiceAccount", "name": "scraper", "namespace": "default"}]}
    admin.request("POST", f"{ROLES}/clusterrolebindings", binding)
    with installed.reconfigured(*OPTIONS), installed.reviewed(*OPTIONS):
        yield installed, tokens
    admin.request("DELETE", f"{ROLES}/clusterrolebindings/scraper")
    cluster.kubectl("delete", "-f", COMPONENT / "rbac.yaml", "-f", COMPONENT / "metrics-reader.yaml")


def scrape(program, token=None, trust=None, path="/metrics"):
    """Returns status and text. Without `trust`, any certificate will do."""
    if trust is None:
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(f"https://127.0.0.1:{program.port_of('metrics')}{path}",
                                     headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, context=trust, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("program", ["reconciler", "webhook"])
def test_an_account_with_the_role_reads_the_metrics_and_no_other(secure, program):
    signalbox, tokens = secure
    program = getattr(signalbox, program)
    # The authorizer watches roles, so new ones take a moment, and a verdict counts for a minute.
    status, text = wait_for("the roles to be in force", lambda: [
        said for said in [scrape(program, tokens["scraper"])] if said[0] == 200], timeout=90)[0]
    assert status == 200 and "\nsignalbox_ready 1\n" in text
    assert scrape(program, tokens["stranger"]) == (403, "this user may not get /metrics\n")
    assert scrape(program) == (401, "a valid bearer token is needed\n")
    assert scrape(program, tokens["scraper"][:-8] + "AAAAAAAA")[0] == 401
    assert scrape(program, tokens["scraper"], path="/healthz")[0] == 404


@pytest.mark.parametrize("program", ["reconciler", "webhook"])
def test_probes_need_no_token_and_plain_http_has_no_metrics(secure, program):
    program = getattr(secure[0], program)
    assert program.admin("/healthz") == (200, "ok\n")
    assert program.admin("/readyz") == (200, "ok\n")
    assert program.admin("/metrics")[0] == 404


def test_the_webhook_has_the_certificate_that_reviews_are_served_with(secure):
    signalbox, tokens = secure
    trust = ssl.create_default_context(cafile=signalbox.certificates / "ca.crt")
    assert scrape(signalbox.webhook, tokens["stranger"], trust)[0] in (403, 503)


def test_without_the_right_to_review_tokens_nobody_reads_the_metrics(secure, cluster, admin):
    signalbox, _ = secure
    admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "another", "namespace": "default"}})
    cluster.kubectl("delete", "clusterrolebinding", "signalbox-reconciler-metrics")
    try:
        # A token of its own for each question, since answers are stored.
        wait_for("the right to be gone", lambda: scrape(
            signalbox.reconciler, cluster.service_account_token("default", "another"))[0] == 503, interval=1.1)
        assert "a permission is missing" in signalbox.reconciler.text()
    finally:
        cluster.kubectl("apply", "--server-side", "-f", COMPONENT / "rbac.yaml")
