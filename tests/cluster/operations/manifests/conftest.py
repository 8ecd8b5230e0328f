"""Most tests here use an API server with Signalbox's CRDs alone: `plane`, `rest`, `installed`. Others use `cluster`, with controllers."""

import json

import pytest

from controlplane import ControlPlane
from schema_server import installed, namespaces, plane, rest  # noqa: F401

# As on Google's clusters: Pods of this priority class need a quota that names it.
LIMITED = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{
    "name": "ResourceQuota", "configuration": {
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": [{
            "resource": "pods", "matchScopes": [{"scopeName": "PriorityClass", "operator": "In",
                                                 "values": ["system-cluster-critical", "system-node-critical"]}]}]}}]}


@pytest.fixture(scope="session")
def cluster(request, tmp_path_factory):
    file = tmp_path_factory.mktemp("admission") / "configuration.yaml"
    file.write_text(json.dumps(LIMITED))
    with ControlPlane(api_server_options=["--admission-control-config-file", file]) as control_plane:
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0
