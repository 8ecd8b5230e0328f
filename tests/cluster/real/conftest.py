"""Two real nodes, and Signalbox as Pods in images that scripts/images has built: installed by the commands of README.md."""

import os
import pathlib
import subprocess

import pytest

from node.cluster import RealCluster
from node.jobset import write_manifests
from node.training import adapt_runtimes
from paths import ROOT
from progress_deployment import GUIDE

USED = ("plain", "torch-distributed", "jax-distributed", "xgboost-distributed", "deepspeed-distributed")
DEPLOYMENTS = ("signalbox-webhook", "signalbox-reconciler", "signalbox-progress")


@pytest.fixture(scope="session")
def cluster(request):
    with RealCluster(jobset=False) as control_plane:
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0


@pytest.fixture(scope="session")
def jobset(cluster, tmp_path_factory):
    """JobSet's controller as a Pod, from its released manifests."""
    cluster.kubectl("apply", "--server-side", "-k", write_manifests(tmp_path_factory.mktemp("jobset")))


@pytest.fixture(scope="session")
def images(cluster, tmp_path_factory):
    """Both images on both nodes. Returns the folder with the overlays that name them."""
    out = tmp_path_factory.mktemp("images")
    run = subprocess.run([ROOT / "scripts" / "images", out, "--binaries", os.environ["SIGNALBOX_BIN_DIR"], "--load", "real"],
                         env={**os.environ, "SIGNALBOX_CLUSTER": str(cluster.directory)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


@pytest.fixture(scope="session")
def installed(cluster, jobset, images):
    """Signalbox, with the server of progress reports, and the shipped runtimes."""
    cluster.kubectl("-n", "jobset-system", "rollout", "status", "deployment/jobset-controller-manager", "--timeout=120s")
    cluster.kubectl("apply", "--server-side", "-k", images / "overlays" / "progress")
    cluster.kubectl("-n", "kubeflow-system", "rollout", "status", *(f"deployment/{name}" for name in DEPLOYMENTS), "--timeout=180s")
    cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "runtimes")


@pytest.fixture(scope="session")
def runtimes(cluster, installed, admin):
    """Shipped runtimes with an image that the nodes have, and with programs at /workspace."""
    adapt_runtimes(admin, USED, {"progress.py": GUIDE})


@pytest.fixture
def plugin(cluster):
    """Returns the output of `kubectl trainjob`."""
    program = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"

    def run(*words):
        ran = subprocess.run([program, *words], env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}, capture_output=True, text=True,
                             check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout
    return run
