"""Machines with one family of IP addresses, or with both: network namespaces with a loopback interface and nothing else."""

import contextlib
import ctypes
import os
import subprocess
import sys

from node.network import enter

LOOPBACK = {"IPv4": "127.0.0.1", "IPv6": "::1"}
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
# What a kernel without IPv6 says to socket(AF_INET6): address family not supported (97). The system calls are those of x86-64 and arm64.
_WITHOUT_IPV6 = """
import ctypes, os, struct, sys
call = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
steps = [(0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 16), (0x15, 0, 1, 10), (0x06, 0, 0, 0x50000 | 97), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextlib.contextmanager
def own_network(*families):
    """Moves the calling thread into a namespace that has these families alone, and back; what it starts meanwhile stays there."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "a network namespace cannot be made")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for family in LOOPBACK.keys() - families:
            subprocess.run(["ip", f"-{family[-1]}", "address", "flush", "dev", "lo"], check=True)
        yield
    finally:
        enter(f"/proc/self/fd/{before}")
        os.close(before)


def on(families, *command):
    """Returns the command line of a program on a machine whose kernel has these families alone."""
    return command if "IPv6" in families else (sys.executable, "-c", _WITHOUT_IPV6, *map(str, command))
