"""YuniKorn's scheduler beside the default one, with the roles of its release."""

import json

import yaml

from .binaries import build_yunikorn
from .processes import Process

NAMESPACE = "yunikorn"
# The queue of a Pod counts; Pods without one have a queue for their namespace, as in its release.
_QUEUES = {"partitions": [{"name": "default", "queues": [{"name": "root", "submitacl": "*"}], "placementrules": [
    {"name": "provided", "create": True}, {"name": "tag", "value": "namespace", "create": True}]}]}


class YuniKorn:
    """install() and then start(). It ends with the control plane."""

    def __init__(self, plane):
        self._plane = plane
        self._program, self._manifests = build_yunikorn()

    def install(self):
        """Creates its service account, its roles and its settings."""
        self._create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        self._create([each for each in yaml.safe_load_all((self._manifests / "yunikorn-rbac.yaml").read_text()) if each])
        self._create([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs"}, "data": {
            "queues.yaml": yaml.safe_dump(_QUEUES),
            # A second by default, for which each step of each story would wait.
            "service.schedulingInterval": "100ms"}}])

    def _create(self, objects):
        self._plane.kubectl("create", "-n", NAMESPACE, "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def start(self):
        """Returns at once: Pods wait until it is ready."""
        account = self._plane.service_account_kubeconfig(NAMESPACE, "yunikorn-admin")
        self._plane.adopt(Process("yunikorn", [self._program], self._plane.directory / "yunikorn.log",
                                  {"KUBECONFIG": str(account), "NAMESPACE": NAMESPACE}))
