"""One API server without controllers for the whole folder: tests play JobSet's controller, and each has a namespace."""

import pytest

from jobs import runtime
from lean import LeanPlane
from rest import Rest


@pytest.fixture(scope="session")
def plane(request):
    with LeanPlane() as lean:
        yield lean
        lean.keep_logs = request.session.testsfailed > 0


@pytest.fixture(scope="session")
def admin(plane):
    return Rest(plane.kubeconfig)


@pytest.fixture
def namespace(admin):
    """The test's own namespace. No controller empties it, so the fixture deletes the test's objects and the runtimes."""
    name = admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}})["metadata"]["name"]
    yield name
    for train_job in admin.list("trainjobs", name):
        if "finalizers" in train_job["metadata"]:
            admin.patch("trainjobs", train_job["metadata"]["name"], {"metadata": {"finalizers": None}}, name)
    for resource in ("trainjobs", "jobsets", "configmaps", "clustertrainingruntimes"):
        admin.request("DELETE", admin.path(resource, namespace=name))
    admin.delete("namespaces", name)


@pytest.fixture
def kubeconfig(plane, namespace):
    """The administrator's kubeconfig with the test's namespace."""
    return plane.admin_kubeconfig(namespace)


@pytest.fixture
def rest(kubeconfig):
    """A client for the test's namespace. Creates the runtime of TrainJobs that name none."""
    client = Rest(kubeconfig)
    client.create(runtime())
    return client
