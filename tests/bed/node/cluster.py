"""A control plane with two real nodes."""

import os
import pathlib
import signal
import sys
import urllib.parse

from controlplane import ControlPlane
from controlplane.kubeconfig import write_kubeconfig
from controlplane.processes import Process

from . import capabilities, containerd, images
from .network import Network
from .nodes import NAMES, Nodes
from .programs import build_dns, build_node, build_runtime

SECONDS_TO_END = 60
_RELAY = pathlib.Path(__file__).with_name("relay.py")


def prepare():
    """Makes what is made once: programs, images, and the store of images from which nodes start. Returns that."""
    capabilities.require()
    build_node()
    build_runtime()
    build_dns()
    return containerd.prepared(images.archives())


def _kill_one(is_wanted):
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text(errors="replace").split("\0")[:-1]
        except OSError:  # it has ended
            continue
        if words and is_wanted(words):
            os.kill(int(path.parent.name), signal.SIGKILL)
            return
    raise RuntimeError("no such process runs")


class RealCluster(ControlPlane):
    """As ControlPlane, whose servers then listen in the network namespace of node 1 instead of on this machine's loopback. From start() to
    stop(), the calling thread is in that namespace, with the processes and threads that it starts."""

    def __init__(self, outlive=False, directory=None, **options):
        super().__init__(nodes=Nodes(), outlive=outlive, directory=directory, **options)
        self._network = self.nodes.network = Network(self.directory, outlive)

    def start(self):
        prepare()  # no part of the time to start
        self._network.start()
        self._network.enter()
        return super().start()

    def stop(self):
        # First, and with more patience than others get: a keeper that is killed leaves the data of its node.
        self._end_nodes(*NAMES)
        super().stop()
        self._network.stop()

    def lose(self, name):
        """Ends a node as if its machine lost its power, and removes its Node, as the controller of a cloud does. For good."""
        self._end_nodes(name)
        self.kubectl("delete", "node", name)

    def _end_nodes(self, *names):
        keepers = [process for process in self._processes if process.name in names]
        for keeper in keepers:
            keeper.ask_to_end()
        for keeper in keepers:
            keeper.wait(SECONDS_TO_END)

    def pids(self):
        return [*super().pids(), *(holder.pid for holder in self._network.holders)]

    def socket_of(self, name):
        """Returns the socket of a node's containerd."""
        return self.directory / name / "containerd.sock"

    def kill_kubelet(self, name):
        """Kills the kubelet of a node, which starts it again. Its programs go on."""
        ours = str(self.directory / f"{name}.kubeconfig")
        _kill_one(lambda words: words[0].endswith("/kubelet") and ours in words)

    def kill_program(self, command):
        """Kills one process of the nodes that runs that command."""
        _kill_one(lambda words: words == command)

    def load(self, archive):
        """Imports the images of an archive on both nodes."""
        for name in NAMES:
            containerd.import_archive(self.socket_of(name), archive)

    def name_image(self, reference, *names):
        """Gives an image of both nodes these names as well, as if it had been pulled by them."""
        for node in NAMES:
            for name in names:
                named = containerd.control(self.socket_of(node), "images", "tag", "--force", reference, name)
                assert named.returncode == 0, named.stderr

    def kubeconfig_outside(self):
        """Returns the administrator's kubeconfig for programs of this machine, which are not in the namespace of node 1."""
        port = urllib.parse.urlsplit(self.server).port
        listening = self.directory / "relay.port"
        with self._network.outside():
            self.adopt(Process("relay", [sys.executable, "-B", _RELAY, listening, self._network.path(1), port], self.directory / "relay.log",
                               outlive=self.outlive))
        self.wait("the relay to listen", listening.exists)
        cert, key = (str(self.ca_file.parent / f"admin.{suffix}") for suffix in ("crt", "key"))
        path = self.directory / "outside.kubeconfig"
        write_kubeconfig(path, f"https://127.0.0.1:{listening.read_text()}", self.ca_file, {"client-certificate": cert, "client-key": key})
        return path
