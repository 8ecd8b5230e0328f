"""One control plane per test file, one installed Signalbox on it, and a clean namespace per test."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cluster"), str(ROOT / "tests" / "support" / "python")]

from controlplane import ControlPlane  # noqa: E402
from deployment import Signalbox  # noqa: E402
from rest import Rest, wait_for  # noqa: E402


@pytest.fixture(scope="module")
def cluster(request):
    with ControlPlane() as control_plane:
        failed_before = request.session.testsfailed
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > failed_before


@pytest.fixture(scope="module")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"]) as signalbox:
        signalbox.install_runtimes()
        yield signalbox


@pytest.fixture(scope="module")
def admin(cluster):
    return Rest(cluster.kubeconfig)


@pytest.fixture
def rest(admin):
    return admin


@pytest.fixture
def signalbox(installed, admin):
    """Both programs running with their default options; afterwards nothing of the test is left."""
    shipped = {r["metadata"]["name"]: r for r in admin.list("clustertrainingruntimes")}
    yield installed
    if installed.reconciler is None or "--created-condition=on-failure" in installed.reconciler.arguments:
        installed.restart_reconciler()
    for job in admin.list("trainjobs"):
        admin.delete("trainjobs", job["metadata"]["name"])
    for job_set in admin.list("jobsets"):
        admin.delete("jobsets", job_set["metadata"]["name"])
    # The garbage collector would do it, but it takes up to 30 s to learn of kinds that were installed just now.
    for config_map in admin.list("configmaps"):
        if config_map["metadata"]["name"].endswith("-runtime-snapshot"):
            admin.delete("configmaps", config_map["metadata"]["name"])
    for runtime in admin.list("trainingruntimes"):
        admin.delete("trainingruntimes", runtime["metadata"]["name"])
    for runtime in admin.list("clustertrainingruntimes"):
        name = runtime["metadata"]["name"]
        if name not in shipped:
            admin.delete("clustertrainingruntimes", name)
        elif runtime["spec"] != shipped[name]["spec"]:
            runtime["spec"] = shipped[name]["spec"]
            admin.replace("clustertrainingruntimes", runtime)
    wait_for("the namespace to be empty", lambda: not admin.list("trainjobs") and not admin.list("jobsets")
             and not admin.list("pods"))
