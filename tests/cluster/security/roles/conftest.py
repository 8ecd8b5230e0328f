"""Fixtures on an API server with Signalbox's CRDs and roles. It has no controller or webhook, except those that a test starts."""

import json

import pytest
import yaml

from accounts import BY_POLICY, METADATA, collection_of, create, is_allowed, merge_patch, obj
from controlplane import ControlPlane
from controlplane.releases import minor_of_kubernetes
from gangs import install_pod_groups
from paths import ROOT
from rest import ApiError, Rest, wait_for
from schema_server import add_job_set, installed as everything, namespaces, rest  # noqa: F401


@pytest.fixture(scope="session")
def token_file(tmp_path_factory):
    """The file of the token that the API server sends to webhooks. The API server reads it at the first call, because it must run before
    it can issue one."""
    return tmp_path_factory.mktemp("callers") / "token"


@pytest.fixture(scope="session")
def plane(token_file):
    """With the admission plugin that requires the permission on trainjobs/finalizers, and with both gang schedulers' kinds."""
    kubeconfig, admission = (token_file.with_name(name) for name in ("kubeconfig", "admission"))
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [
        {"name": "*", "user": {"tokenFile": str(token_file)}}]}))
    plugin = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}
    admission.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
        {"name": name, "configuration": plugin} for name in ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")]}))
    alpha = ["--feature-gates=APIServerWebhookAuthenticationToken=true"] if minor_of_kubernetes() >= 37 else []
    with ControlPlane(lean=True, api_server_options=["--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
                                                     "--admission-control-config-file", admission, *alpha]) as lean:
        add_job_set(lean)
        install_pod_groups(Rest(lean.kubeconfig))
        yield lean


@pytest.fixture(scope="session")
def installed(plane, everything):
    """Everything, without the binding by which every account reads ClusterTrainingRuntimes. It would hide what the programs' own roles
    allow."""
    plane.kubectl("delete", "clusterrolebinding", "kubeflow-trainer-view-cluster-runtimes")
    return everything


# For the kinds that the accounts may change and not delete.
DELETE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "owners-are-free"}, "rules": [
    {"apiGroups": ["*"], "verbs": ["delete"], "resources": [
        "trainingruntimes", "clustertrainingruntimes", "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "secrets",
        "podgroups", "events", "leases"]}]}
BOUND = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "owners-are-free"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "owners-are-free"},
         "subjects": [{"kind": "ServiceAccount", "namespace": "kubeflow-system", "name": f"signalbox-{program}"}
                      for program in ("reconciler", "webhook", "progress")]}


@pytest.fixture(scope="module")
def owners_are_free(plane, rest):
    """In most clusters, an account that may change an object may change its owners. Here the plugin denies that before the policy does,
    except for accounts that may delete the object."""
    both = json.dumps({"apiVersion": "v1", "kind": "List", "items": [DELETE, BOUND]})
    plane.kubectl("apply", "--server-side", "-f", "-", input=both)
    yield
    plane.kubectl("delete", "-f", "-", input=both)


@pytest.fixture(scope="module")
def thief(plane, rest, installed, owners_are_free):
    """A client with the reconciler's token, while the policy for the accounts is in force."""
    client = Rest(plane.service_account_kubeconfig("kubeflow-system", "signalbox-reconciler"))
    wait_for("the right to delete", lambda: is_allowed(lambda: client.get("trainingruntimes", "any", "default") or client.delete(
        "trainingruntimes", "any", "default")))

    def in_force():
        try:
            create(client, obj("ConfigMap", "probe", owners=()))
        except ApiError as error:
            return BY_POLICY in str(error)
        return False
    wait_for("the policy to be in force", in_force)
    return client


@pytest.fixture(scope="module")
def thief_of_webhook(plane, thief):
    """A client with the webhook's token, with the role for its own certificate."""
    plane.kubectl("apply", "--server-side", "-f", ROOT / "manifests" / "components" / "self-signed" / "rbac.yaml")
    yield Rest(plane.service_account_kubeconfig("kubeflow-system", "signalbox-webhook"))
    plane.kubectl("delete", "-f", ROOT / "manifests" / "components" / "self-signed" / "rbac.yaml")


@pytest.fixture(scope="module")
def thief_of_progress(plane, rest, installed, owners_are_free):
    """A client with the token of the server of progress, while the policy for its account is in force."""
    files = [word for name in ("rbac.yaml", "account-policy.yaml") for word in ("-f", ROOT / "manifests" / "components" / "progress" / name)]
    plane.kubectl("apply", "--server-side", *files)
    client = Rest(plane.service_account_kubeconfig("kubeflow-system", "signalbox-progress"))

    def in_force():
        try:
            create(client, obj("Lease", "any", owners=()), "kubeflow-system")
        except ApiError as error:
            return "signalbox-progress-account" in str(error)
        return False
    wait_for("the policy to be in force", in_force)
    yield client
    plane.kubectl("delete", *files)


@pytest.fixture
def there(rest):
    """Creates objects with the administrator's account, which the policy does not limit. They are deleted after the test."""
    made = []

    def make(what, namespace="default"):
        created = rest.request("POST", collection_of(what, namespace), what)
        made.append(collection_of(what, namespace) + "/" + what["metadata"]["name"])
        return created
    yield make
    for path in made:
        merge_patch(rest, path, {"metadata": {"finalizers": []}})
        rest.request("DELETE", path)


@pytest.fixture
def configurations(rest):
    """The webhook's own configurations; the API server does not call them."""
    made = {}
    for kind, name in (("Validating", "validator.trainer.kubeflow.org"), ("Mutating", "defaulter.trainer.kubeflow.org")):
        configuration = yaml.safe_load((ROOT / "manifests" / "base" / "webhook" / f"{kind.lower()}.yaml").read_text())
        for webhook in configuration["webhooks"]:
            webhook["namespaceSelector"] = {"matchLabels": {"no": "where"}}
            webhook["rules"][0]["scope"] = "Namespaced"
        configuration["metadata"] |= METADATA
        path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations"
        rest.request("POST", path, configuration)
        made[kind] = f"{path}/{name}"
    yield made
    for path in made.values():
        merge_patch(rest, path, {"metadata": {"finalizers": []}})
        rest.request("DELETE", path)
