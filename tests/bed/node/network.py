"""Two network namespaces, joined by a cable, with no way out. They have no name: they end with the last process in them."""

import contextlib
import ctypes
import os
import subprocess
import time

from controlplane.processes import Process

SERVICES = "10.96.0.0/16"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def address_of(number):
    """Returns the address of node 1 or 2."""
    return f"10.77.0.{number}"


def pods_of(number):
    """Returns the addresses of a node's Pods."""
    return f"10.244.{number}.0/24"


class Network:
    """start() makes it. enter() moves a thread into the namespace of a node, and with it the processes and threads that it starts."""

    def __init__(self, directory, outlive=False):
        self._directory = directory
        self._outlive = outlive
        self._before = None  # the namespace that enter() has left
        self.holders = []  # the processes that keep the namespaces

    def start(self):
        for number in (1, 2):
            self.holders.append(Process(f"network-{number}", ["unshare", "--net", "sleep", "infinity"], self._directory / f"network-{number}.log",
                                        outlive=self._outlive))
        for holder in self.holders:
            _wait_for_namespace(holder)
        one, two = (holder.pid for holder in self.holders)
        _ip(one, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", str(two))
        for number, pid in ((1, one), (2, two)):
            other = 3 - number
            _ip(pid, "link", "set", "lo", "up")
            _ip(pid, "address", "add", f"{address_of(number)}/24", "dev", "eth0")
            _ip(pid, "link", "set", "eth0", "up")
            _ip(pid, "route", "add", pods_of(other), "via", address_of(other))
            # kube-proxy changes the destination of packets to a Service, but only of packets that have a route.
            _ip(pid, "route", "add", SERVICES, "via", address_of(other))
        return self

    def stop(self):
        """Ends the namespaces once nothing else is in them. Moves the calling thread out of them. A second call does nothing."""
        if self._before is not None:
            _set(self._before)
            os.close(self._before)
            self._before = None
        for holder in self.holders:
            holder.kill()
        self.holders = []

    @contextlib.contextmanager
    def outside(self):
        """The calling thread is where it was before enter() inside the context."""
        _set(self._before)
        try:
            yield
        finally:
            enter(self.path(1))

    def path(self, number):
        """Returns the file of a node's namespace."""
        return f"/proc/{self.holders[number - 1].pid}/ns/net"

    def enter(self):
        """Moves the calling thread into the namespace of node 1, until stop()."""
        self._before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        enter(self.path(1))


def enter(path):
    """Moves the calling thread into the network namespace that the file names."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _set(file)
    finally:
        os.close(file)


def _set(file):
    if _libc.setns(file, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "a network namespace cannot be entered")


def _wait_for_namespace(holder):
    """Waits until the holder has left the namespace of its parent."""
    while holder.running():
        if os.readlink(f"/proc/{holder.pid}/exe").endswith("sleep"):
            return
        time.sleep(0.005)
    raise RuntimeError(f"a network namespace cannot be made: {holder.tail()}")


def _ip(pid, *words):
    run = subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {run.stderr.strip()}")
