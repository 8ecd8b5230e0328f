"""Two real nodes, and Signalbox as Pods in images that scripts/images has built: installed by the commands of README.md, or with
SIGNALBOX_INSTALL_BY=chart by the one command of docs/install.md."""

import copy
import json
import os
import pathlib
import subprocess

import pytest

import checkpoints
from controlplane.binaries import build_helm
from node import release
from node.cluster import RealCluster
from node.installed import DEPLOYMENTS
from node.jobset import write_manifests
from node.registry import Registry
from node.training import adapt_runtimes, pod_specs
from paths import ROOT
from progress_deployment import GUIDE
from rest import true_conditions, wait_for

SECONDS = 240
USED = ("plain", "torch-distributed", "jax-distributed", "xgboost-distributed", "deepspeed-distributed")


@pytest.fixture(scope="session")
def cluster(request):
    with RealCluster(jobset=False) as control_plane:
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0


@pytest.fixture(scope="session")
def jobset(cluster, tmp_path_factory):
    """JobSet's controller as a Pod, from its released manifests, which starts while the images are built."""
    cluster.kubectl("apply", "--server-side", "-k", write_manifests(tmp_path_factory.mktemp("jobset")))


@pytest.fixture(scope="session")
def images(cluster, tmp_path_factory):
    """Both images on both nodes. Returns the folder with what scripts/images has made."""
    out = tmp_path_factory.mktemp("images")
    run = subprocess.run([ROOT / "scripts" / "images", out, "--binaries", os.environ["SIGNALBOX_BIN_DIR"], "--load", "real"],
                         env={**os.environ, "SIGNALBOX_CLUSTER": str(cluster.directory)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


@pytest.fixture(scope="session")
def installed(request):
    """JobSet, Signalbox with the server of progress reports, and the shipped runtimes, on a cluster that had none of them."""
    request.getfixturevalue("by_chart" if os.environ.get("SIGNALBOX_INSTALL_BY") == "chart" else "by_commands")


@pytest.fixture(scope="session")
def by_commands(cluster, jobset, images):
    """The commands of README.md."""
    cluster.kubectl("-n", "jobset-system", "rollout", "status", "deployment/jobset-controller-manager", "--timeout=120s")
    cluster.kubectl("apply", "--server-side", "-k", images / "overlays" / "progress")
    cluster.kubectl("-n", "kubeflow-system", "rollout", "status", *(f"deployment/{name}" for name in DEPLOYMENTS), "--timeout=180s")
    cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "runtimes")


@pytest.fixture(scope="session")
def by_chart(cluster, images, tmp_path_factory):
    """The one command of docs/install.md."""
    chart = release.chart_for_nodes(tmp_path_factory.mktemp("release"), images, cluster.kubectl_path)
    run = subprocess.run([build_helm(), *release.one_command(chart, images), "--kubeconfig", cluster.kubeconfig, "--timeout", f"{SECONDS}s"],
                         capture_output=True, text=True, env={"HOME": str(chart.parent), "PATH": "/usr/bin:/bin"})
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="session")
def runtimes(cluster, installed, admin):
    """Shipped runtimes with an image that the nodes have, and with programs at /workspace."""
    adapt_runtimes(admin, USED, {"progress.py": GUIDE, **checkpoints.PROGRAMS})


@pytest.fixture(scope="session")
def registry(cluster):
    with Registry(cluster.nodes.network):
        yield


@pytest.fixture(scope="session", autouse=True)
def jobs(request, runtimes, registry, admin):
    """Creates what the files that run have in JOBS, before the first test: most of them wait."""
    for module in dict.fromkeys(item.module for item in request.session.items):
        for each in getattr(module, "JOBS", ()):
            admin.create(each)


@pytest.fixture(scope="session")
def plugin_command(cluster):
    """Returns arguments and environment of `kubectl trainjob`, for subprocess."""
    program = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
    return lambda *words: {"args": [program, *words], "env": {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}}


@pytest.fixture(scope="session")
def attempt(plugin_command):
    """Runs `kubectl trainjob`. Returns its status, output and errors."""
    def run(*words):
        ran = subprocess.run(**plugin_command(*words), capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr
    return run


@pytest.fixture(scope="session")
def plugin(attempt):
    """Returns the output of `kubectl trainjob`."""
    def run(*words):
        status, output, errors = attempt(*words)
        assert status == 0, output + errors
        return output
    return run


@pytest.fixture(scope="session")
def state_of(plugin):
    """Returns the state of a job as `kubectl trainjob list` has it, with its detail."""
    def state(name):
        row, = (row for row in json.loads(plugin("list", "-o", "json"))["items"] if row["name"] == name)
        return ", ".join(filter(None, (row["state"], row.get("detail"))))
    return state


@pytest.fixture(scope="session")
def pods_of(admin):
    """Returns the Pods of a job."""
    return lambda name: admin.list("pods", selector=f"jobset.sigs.k8s.io/jobset-name={name}")


@pytest.fixture(scope="session")
def ended(admin):
    """Waits for the end of one of the jobs. Returns its last condition."""
    def wait(name):
        def end():
            conditions = true_conditions(admin.get("trainjobs", name))
            return next((kind for kind in ("Complete", "Failed") if kind in conditions), None)
        return wait_for(f"the end of {name}", end, SECONDS)
    return wait


@pytest.fixture
def retrying(runtimes, admin, request):
    """Makes a runtime with a failure policy. Its Pods fail at once."""
    def make(name, policy):
        runtime = copy.deepcopy(admin.get("clustertrainingruntimes", "plain"))
        runtime["metadata"] = {"name": name}
        for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            job["template"]["spec"].pop("podFailurePolicy")
        for pod in pod_specs(runtime):
            pod["terminationGracePeriodSeconds"] = 5
        runtime["spec"]["runPolicy"] = {"failurePolicy": policy}
        admin.create(runtime)
        request.addfinalizer(lambda: admin.delete("clustertrainingruntimes", name))  # guides show all of them
    return make
