"""Two real nodes: each runs a kubelet, kube-proxy and containerd. Node 1's network namespace is also that of the control plane, so that
the API server reaches Services and Pods, and Pods reach the API server."""

import json
import os
import pathlib
import sys

from controlplane import gates
from controlplane.binaries import cache_directory
from controlplane.processes import Process

from . import containerd, images
from .network import address_of
from .programs import build_dns, build_node

_KEEPER = pathlib.Path(__file__).with_name("keeper.py")
NAMES = ("node-1", "node-2")


class Nodes:
    """The nodes of a RealCluster."""

    def __init__(self):
        self.address = address_of(1)
        self.network = None

    def __len__(self):
        return len(NAMES)

    def options_of_api_server(self, plane):
        """Returns options for an API server that nodes and Pods reach."""
        cert, key = plane.authority.issue("kubelet-client", "kube-apiserver-kubelet-client", "system:masters")
        return ["--bind-address", "0.0.0.0", "--advertise-address", self.address, "--endpoint-reconciler-type", "lease",
                "--enable-admission-plugins", "NodeRestriction", "--kubelet-client-certificate", cert, "--kubelet-client-key", key,
                "--kubelet-preferred-address-types", "InternalIP"]

    def start(self, plane):
        """Starts them, and the name server. Needs a running API server."""
        dns = plane.directory / "dns.conf"
        dns.write_text(f"cluster.local:53 in-addr.arpa:53 {{\n bind {self.address}\n errors\n kubernetes {{\n"
                       f"  kubeconfig {plane.user_kubeconfig('dns', 'test-dns', 'system:masters')}\n  pods insecure\n }}\n}}\n"
                       f".:53 {{\n bind {self.address}\n template ANY ANY {{\n  rcode NXDOMAIN\n }}\n}}\n")
        plane.adopt(Process("dns", [build_dns(), "-conf", dns], plane.directory / "dns.log", outlive=plane.outlive))
        plane.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "test-proxy"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-proxier"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "test-proxy"}]})
        store = containerd.prepared(images.archives())
        proxy = self._kubeconfig(plane, "proxy", "test-proxy")
        for number, name in enumerate(NAMES, start=1):
            directory = plane.directory / name
            directory.mkdir(exist_ok=True)
            settings = directory / "settings.json"
            settings.write_text(json.dumps({
                "name": name, "number": number, "directory": str(directory), "network": self.network.path(number), "store": str(store),
                "data": str(cache_directory() / "nodes"), "programs": str(build_node()), "ca_file": str(plane.ca_file),
                "proxy_kubeconfig": str(proxy), "kubeconfig": str(self._kubeconfig(plane, name, f"system:node:{name}", "system:nodes")),
                "gates": {name: True for name in plane.pod_groups},
                "parent": None if plane.outlive else os.getpid()}))
            # It ends by itself after this process, as it has to remove the node's cgroups.
            plane.adopt(Process(name, [sys.executable, "-B", _KEEPER, settings], directory / "keeper.log", outlive=True))

    def _kubeconfig(self, plane, name, user, group=""):
        """Returns a kubeconfig of that user, with the address at which both nodes reach the API server."""
        path = plane.user_kubeconfig(name, user, group)
        path.write_text(path.read_text().replace("//127.0.0.1:", f"//{self.address}:"))
        return path

    def ready(self, plane):
        """Returns whether Pods can be scheduled on both."""
        nodes = plane.api.get("/api/v1/nodes").get("items", [])
        return len(nodes) == len(NAMES) and all(_is_ready(node) and not node["spec"].get("taints") for node in nodes)


def _is_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))

