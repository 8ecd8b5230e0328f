"""The example driver of Kubernetes for devices behind claims, as its chart installs it: a Pod of each node offers GPUs that are not there, and
tells containerd what a container with one of them gets."""

import subprocess

from controlplane.binaries import build_helm

from .images import archive_of_driver
from .programs import build_driver

CLASS = "gpu.example.com"
NAMESPACE = "dra-example-driver"


def prepare():
    """Makes what is made once."""
    archive_of_driver()
    build_helm()


class ExampleDriver:
    """Offers so many GPUs on each node until the context ends."""

    def __init__(self, cluster, home, number):
        self._cluster, self._home, self._number = cluster, home, number

    def _helm(self, *words):
        run = subprocess.run([build_helm(), *words, "--namespace", NAMESPACE, "--kubeconfig", self._cluster.kubeconfig, "--wait", "--timeout", "60s"],
                             capture_output=True, text=True, env={"HOME": str(self._home), "PATH": "/usr/bin:/bin"})
        assert run.returncode == 0, run.stdout + run.stderr

    def __enter__(self):
        self._cluster.load(archive_of_driver())
        self._helm("install", "example", build_driver() / "chart", "--create-namespace", "--set", f"kubeletPlugin.numDevices={self._number}")

    def __exit__(self, *_):
        self._helm("uninstall", "example")
