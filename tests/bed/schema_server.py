"""Fixtures for an API server with JobSet's CRD and Signalbox's, but without any controller or webhook: only the CRDs deny
anything. A folder's conftest.py imports them."""

import functools
import json
import os
import subprocess

import pytest
import yaml

from controlplane import ControlPlane
from deployment import Signalbox
from jobs import train_job
from paths import ROOT
from rest import ApiError, Rest, wait_for


@pytest.fixture(scope="session")
def plane():
    with ControlPlane(lean=True) as control_plane:
        add_job_set(control_plane)
        yield control_plane


@pytest.fixture(scope="session")
def rest(plane):
    """Returns a client, once the kinds are served."""
    plane.kubectl("apply", "--server-side", "-k", ROOT / "manifests" / "base" / "crds")
    client = Rest(plane.kubeconfig)
    for plural in ("trainjobs", "trainingruntimes", "clustertrainingruntimes"):
        wait_for(f"{plural} to be served", lambda: is_served(client, plural))
    return client


@pytest.fixture(scope="session")
def namespaces(rest):
    """Creates the namespaces of overlays/namespaced."""
    names = ["team-a", "team-b"]
    for name in names:
        rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return names


@pytest.fixture(scope="session")
def installed(plane, rest):
    """Installs everything but the webhook configurations: without a webhook, the API server would deny all objects of these kinds.
    The CRDs exist already, and stay as other tests expect them."""
    left_out = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition")
    objects = [obj for obj in build(plane, ROOT / "manifests" / "base") if obj["kind"] not in left_out]
    run = subprocess.run([plane.kubectl_path, "--kubeconfig", plane.kubeconfig, "apply", "--server-side", "-f", "-"],
                         input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return objects


def add_job_set(plane):
    """Installs JobSet's CRD, which a lean control plane lacks. It needs no controller."""
    plane.kubectl("apply", "--server-side", "-f", plane.kubectl_path.parent / "jobset-config" / "crd" / "bases")


class WebhookAlone(Signalbox):
    """The webhook with these options, after `installed` has installed everything but its configurations. It adds and removes these."""

    def __init__(self, plane, *options):
        super().__init__(plane, os.environ["SIGNALBOX_BIN_DIR"])
        self._options = options
        self._configurations = []

    def install(self):
        self._directory.mkdir(exist_ok=True)
        self._configurations = [obj for obj in build(self._cluster, ROOT / "manifests" / "overlays" / "local-processes")
                                if "Webhook" in obj["kind"]]
        self._cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": self._configurations}))

    def start_webhook(self):
        super().start_webhook(*self._options)

    def start_reconciler(self):
        """Does nothing: there is no reconciler."""

    def stop(self):
        for obj in self._configurations:
            self._cluster.kubectl("delete", obj["kind"], obj["metadata"]["name"])
        client = Rest(self._cluster.kubeconfig)
        wait_for("the API server to forget the webhook", lambda: _is_accepted(client, train_job("any", "no-such-runtime")))
        return super().stop()


def _is_accepted(client, obj):
    try:
        return client.create(obj, dry_run=True)
    except ApiError:
        return None


def follow(plane, command):
    """Returns the output of a guide's command, run in the checkout like a reader's."""
    done = subprocess.run(["bash", "-ec", command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120, env={
        **os.environ, "KUBECONFIG": str(plane.kubeconfig), "PATH": f"{plane.kubectl_path.parent}:/usr/bin:/bin"})
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def build(plane, directory):
    """Returns the objects that kustomize builds from the directory."""
    return load_all(kustomized(plane, directory))


@functools.cache
def kustomized(plane, directory):
    return plane.kubectl("kustomize", directory)


def load_all(text):
    """Returns the documents in the text. The CRDs are long, and PyYAML's own loader takes seconds for them."""
    return [doc for doc in yaml.load_all(text, Loader=yaml.CSafeLoader) if doc]


def by_name(objects):
    """Maps kind and name to the object; outside of kubeflow-system the name is NAMESPACE/NAME."""
    def key(meta):
        return meta["name"] if meta.get("namespace") in (None, "kubeflow-system") else f"{meta['namespace']}/{meta['name']}"
    named = {(each["kind"], key(each["metadata"])): each for each in objects}
    assert len(named) == len(objects)
    return named


def is_served(client, plural):
    try:
        client.list(plural)
    except ApiError:
        return False
    return True
