"""On an API server with our CRDs and roles, and without any controller or webhook but those that a test starts."""

import json

import pytest

from controlplane import ControlPlane
from gangs import install_pod_groups
from rest import Rest
from schema_server import add_job_set, installed, namespaces, rest  # noqa: F401


@pytest.fixture(scope="session")
def token_file(tmp_path_factory):
    """The API server sends the token in it to webhooks. It is read at the first call: there is no token before there is an API
    server to make it."""
    return tmp_path_factory.mktemp("callers") / "token"


@pytest.fixture(scope="session")
def plane(token_file):
    """With the admission plugin for which the permission on trainjobs/finalizers is there, and both gang schedulers' kinds."""
    kubeconfig, admission = (token_file.with_name(name) for name in ("kubeconfig", "admission"))
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [
        {"name": "*", "user": {"tokenFile": str(token_file)}}]}))
    plugin = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}
    admission.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
        {"name": name, "configuration": plugin} for name in ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")]}))
    with ControlPlane(lean=True, api_server_options=["--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
                                                     "--admission-control-config-file", admission]) as lean:
        add_job_set(lean)
        install_pod_groups(Rest(lean.kubeconfig))
        yield lean
