"""On an API server with our CRDs and roles, and without any controller or webhook."""

import pytest

from controlplane import ControlPlane
from gangs import install_pod_groups
from rest import Rest
from schema_server import add_job_set, installed, namespaces, rest  # noqa: F401


@pytest.fixture(scope="session")
def plane():
    """With the admission plugin for which the permission on trainjobs/finalizers is there, and both gang schedulers' kinds."""
    with ControlPlane(lean=True, api_server_options=["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]) as lean:
        add_job_set(lean)
        install_pod_groups(Rest(lean.kubeconfig))
        yield lean
