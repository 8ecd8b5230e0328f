"""Ports of loopback for one control plane."""

import pathlib
import random
import socket

_EPHEMERAL = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count):
    """Returns free ports, all different.

    They lie below the range of outgoing connections, of which a control plane makes many: one of these could take a port between
    this check and the program's bind. Another control plane that starts at the same moment can still take one; then
    ControlPlane.start() tries again.
    """
    first_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    candidates = range(10000, first_ephemeral) if first_ephemeral > 12000 else range(1024, 65536)
    found = []
    for port in random.sample(candidates, len(candidates)):
        if _is_free(port):
            found.append(port)
            if len(found) == count:
                return found
    raise RuntimeError(f"there are no {count} free ports between {candidates.start} and {candidates.stop - 1} on 127.0.0.1")


def _is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False
