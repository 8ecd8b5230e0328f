"""What real nodes need of a machine. A machine that lacks something gets a sentence that names it, before anything is started."""

import os
import shutil
import subprocess
import tempfile

from controlplane.binaries import cache_directory

from . import cgroups
from .programs import unpacked

PROGRAMS = ("unshare", "nsenter", "mount", "ip", "nft", "cc")
# In new namespaces, so that a try leaves nothing behind.
_TRIES = {
    "processes cannot get mount, process and network namespaces of their own": "true",
    "a mount namespace cannot have a tmpfs": "mount -t tmpfs tmpfs /mnt",
    "there are no veth pairs, which join the network namespaces": "ip link add one type veth peer name two",
    "there are no bridges, which join Pods": "ip link add one type bridge",
    "packets of bridges do not pass the packet filter (`modprobe br_netfilter` loads it)": "echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables",
    "there is no packet filter for kube-proxy (nf_tables)":
        "nft add table ip one && nft 'add chain ip one two { type nat hook prerouting priority 0 ; }'",
}


def missing():
    """Returns a sentence for each thing that this machine lacks."""
    if os.geteuid():
        return ["real nodes need root: they make namespaces, mounts and cgroups"]
    lacking = [f"{name} is not on the PATH; scripts/setup installs it" for name in PROGRAMS
               if not shutil.which(name)]
    lacking += [f"{program} of the package {package} is not in {unpacked(package)}; scripts/setup gets it"
                for package, program in (("runc", "runc"), ("containernetworking-plugins", "bridge"))
                if not (unpacked(package) / program).exists()]
    lacking += [f"the kernel has no cgroup controller {name}" for name in cgroups.missing()]
    if lacking:
        return lacking
    for what, command in _TRIES.items():
        tried = _in_namespaces(command)
        if tried.returncode:
            lacking.append(f"{what}: {tried.stderr.strip()}")
    return lacking or [*_missing_of_cgroups(), *_missing_of_storage()]


def require():
    """Raises if this machine cannot run real nodes."""
    if lacking := missing():
        raise RuntimeError("this machine cannot run real nodes: " + "; ".join(lacking))


def _in_namespaces(command):
    return subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "sh", "-c", command], capture_output=True, text=True)


def _missing_of_cgroups():
    name = f"signalbox-try-{os.getpid()}"
    try:
        cgroups.create(name)
    except OSError as error:
        return [f"cgroups cannot be made: {error}"]
    finally:
        cgroups.remove(name)
    return []


def _missing_of_storage():
    cache_directory().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_directory()) as scratch:
        for name in ("lower", "upper", "work", "merged"):
            os.mkdir(f"{scratch}/{name}")
        tried = _in_namespaces(f"mount -t overlay overlay -o lowerdir={scratch}/lower,upperdir={scratch}/upper,workdir={scratch}/work {scratch}/merged")
    return [f"{cache_directory()} cannot hold containers, since an overlay cannot be mounted over it: {tried.stderr.strip()}"] if tried.returncode else []
