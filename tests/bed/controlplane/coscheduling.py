"""The scheduler and the controller of scheduler-plugins, as its release installs them: a second scheduler beside the default one, with
the plugin Coscheduling."""

import json
import ssl
import urllib.error
import urllib.request

import yaml

from .binaries import build_coscheduling
from .ports import free_ports
from .processes import Process

SCHEDULER = "gang-scheduler"  # the schedulerName of Pods
_CONTROLLER = ("scheduler-plugins", "scheduler-plugins-controller")  # namespace and service account
# The controller is a process and not a Pod.
_LEFT_OUT = {"Deployment"}


class Coscheduling:
    """install() and then start(). Both programs end with the control plane."""

    def __init__(self, plane):
        self._plane = plane
        self._programs = build_coscheduling()
        self._directory = plane.directory / "coscheduling"
        self._scheduler_port, self._controller_port = free_ports(2)

    def install(self):
        """Creates its kinds and its roles. The controller watches ElasticQuotas, too, and ends without them."""
        self._directory.mkdir()
        manifests = self._programs / "coscheduling-config"
        for file in ("coscheduling/crd.yaml", "capacityscheduling/crd.yaml", "install/all-in-one.yaml"):
            objects = [obj for obj in yaml.safe_load_all((manifests / file).read_text()) if obj and obj["kind"] not in _LEFT_OUT]
            self._plane.kubectl("create", "--validate=false", "-f", "-",
                                input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        self._plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "customresourcedefinition", "--all")

    def start(self):
        """Returns when both are ready."""
        kubeconfig = self._plane.user_kubeconfig("gang-scheduler", "system:kube-scheduler")
        settings = self._directory / "config.json"
        settings.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 500, "burst": 1000},
            # A gang that found no room is tried again after this time at most; ten seconds by default, for which tests would wait.
            "podMaxBackoffSeconds": 2,
            "profiles": [{
                "schedulerName": SCHEDULER,
                "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                            "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}}}]}))
        self._launch("coscheduling-scheduler", "--config", settings, "--bind-address", "127.0.0.1", "--secure-port", self._scheduler_port, "-v", "3")
        self._launch("coscheduling-controller", "--metricsAddr", "0", "--probeAddr", f"127.0.0.1:{self._controller_port}", "--workers", "5",
                     environment={"KUBECONFIG": str(self._plane.service_account_kubeconfig(*_CONTROLLER))})
        self._plane.wait("the gang scheduler to be ready", lambda: _answers(f"https://127.0.0.1:{self._scheduler_port}/readyz"))
        self._plane.wait("its controller to be ready", lambda: _answers(f"http://127.0.0.1:{self._controller_port}/readyz"))

    def _launch(self, name, *arguments, environment=None):
        self._plane.adopt(Process(name, [self._programs / name, *arguments], self._plane.directory / f"{name}.log", environment))


def _answers(url):
    # The scheduler signs its certificate itself.
    context = ssl._create_unverified_context() if url.startswith("https") else None
    try:
        urllib.request.urlopen(url, timeout=5, context=context).close()
    except (urllib.error.URLError, OSError):
        return False
    return True
