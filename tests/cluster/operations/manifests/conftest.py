"""Most tests here use an API server with Signalbox's CRDs alone: `plane`, `rest`, `installed`. Others use `cluster`, with controllers, or
`empty_plane`, on which nothing is installed."""

import contextlib
import functools
import json
import subprocess

import pytest

from controlplane import ControlPlane, binaries
from emptied import emptied
from node.release import jobset_manifests
from overlays import with_progress, with_secure_metrics
from releases import ARCHITECTURES, DIGESTS, VERSION, make_release
from schema_server import ROOT, build, by_name, installed, load_all, namespaces, plane, rest  # noqa: F401

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


@pytest.fixture(scope="session")
def planes_to_empty():
    """The API servers that run, and the list of those that are empty."""
    with contextlib.ExitStack() as running:
        yield running, []


@pytest.fixture
def empty_plane(planes_to_empty):
    """An API server without anything of Signalbox or Kubeflow Trainer. One that cannot be emptied again is used by no other test."""
    running, empty = planes_to_empty
    one = empty.pop() if empty else running.enter_context(ControlPlane(lean=True))
    with emptied(one):
        yield one
    empty.append(one)


@pytest.fixture(scope="session")
def overlay(plane):
    """Returns the objects of an overlay, or of the base, by kind and name."""
    built = {}

    def objects(name):
        if name not in built:
            directory = ROOT / "manifests" / "base" if name == "base" else ROOT / "manifests" / "overlays" / name
            built[name] = by_name(build(plane, directory))
        return built[name]
    return objects


@pytest.fixture(scope="session")
def and_progress(plane, tmp_path_factory):
    """Returns the objects of an overlay to which component progress is added, by kind and name."""
    directory = tmp_path_factory.mktemp("progress")

    @functools.cache
    def folder(name):
        return with_progress(ROOT / "manifests" / "overlays" / name, directory)
    return lambda name: by_name(build(plane, folder(name)))


@pytest.fixture(scope="session")
def and_secure_metrics(plane, tmp_path_factory):
    """Returns the objects of an overlay, with component progress if asked, to which secure metrics are added, by kind and name."""
    directory = tmp_path_factory.mktemp("secure")

    @functools.cache
    def folder(name, progress):
        before = ROOT / "manifests" / "overlays" / name
        return with_secure_metrics(with_progress(before, directory) if progress else before, directory)
    return lambda name, progress=False: by_name(build(plane, folder(name, progress)))


@pytest.fixture(scope="session")
def layouts(tmp_path_factory):
    """What scripts/images leaves of its images for scripts/release: the layouts' indexes, and bills of materials."""
    directory = tmp_path_factory.mktemp("images")
    for program, digest in DIGESTS.items():
        (directory / f"signalbox-{program}").mkdir()
        (directory / f"signalbox-{program}" / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [
            {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": digest, "size": 500,
             "annotations": {"org.opencontainers.image.ref.name": VERSION}}]}))
        for architecture in ARCHITECTURES:
            (directory / architecture).mkdir(exist_ok=True)
            (directory / architecture / f"{program}.spdx.json").write_text(json.dumps({"name": program, "of": architecture}))
    return directory


@pytest.fixture(scope="session")
def jobset(tmp_path_factory):
    """What JobSet's release has as manifests.yaml."""
    return jobset_manifests(tmp_path_factory.mktemp("jobset"), binaries.build() / "kubectl")


@pytest.fixture(scope="session")
def release(tmp_path_factory, layouts, jobset):
    return make_release(tmp_path_factory.mktemp("release"), layouts, "--jobset", jobset)


@pytest.fixture(scope="session")
def chart(release):
    return release / f"signalbox-{VERSION}.tgz"


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    """Runs helm without the user's settings."""
    program, home = binaries.build_helm(), tmp_path_factory.mktemp("helm")

    def run(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                              env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    return run


@pytest.fixture
def run_helm(empty_plane, helm):
    """Runs helm on the empty plane. Returns what it prints."""
    def run(*arguments):
        done = helm(*arguments, "--kubeconfig", str(empty_plane.kubeconfig))
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture(scope="session")
def template(helm, chart):
    """Returns the chart's objects for these options."""
    @functools.cache
    def rendered(options):
        run = helm("template", "signalbox", chart, *options)
        assert run.returncode == 0, run.stderr
        return run.stdout
    return lambda *options: by_name(load_all(rendered(options)))
