"""The cgroups of a node: a folder of its own in each hierarchy, below which the kubelet makes those of Pods."""

import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
# What the kubelet uses of cgroup v1, where each has a hierarchy, and of v2, where the root lists them.
NEEDED = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
NEEDED_OF_V2 = ("cpu", "cpuset", "memory", "pids")


def is_v2():
    return (ROOT / "cgroup.controllers").exists()


def missing():
    """Returns what this machine lacks."""
    if is_v2():
        there = (ROOT / "cgroup.controllers").read_text().split()
        return [name for name in NEEDED_OF_V2 if name not in there]
    return [name for name in NEEDED if not (ROOT / name / "tasks").exists()]


def create(name):
    if is_v2():
        (ROOT / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in NEEDED_OF_V2))
        (ROOT / name).mkdir()
        (ROOT / name / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in NEEDED_OF_V2))
        return
    for hierarchy in _hierarchies():
        (hierarchy / name).mkdir()
    for file in ("cpuset.cpus", "cpuset.mems"):  # a new one has none, and no process gets into it
        (ROOT / "cpuset" / name / file).write_text((ROOT / "cpuset" / file).read_text())


def names():
    """Returns the names of all nodes that have cgroups."""
    return {path.name for hierarchy in _hierarchies() for path in hierarchy.glob("signalbox-node-*")}


def remove(name):
    """Removes the cgroups of a node whose processes have ended."""
    for hierarchy in _hierarchies():
        for folder, _, _ in os.walk(hierarchy / name, topdown=False):
            _remove(folder)


def _remove(folder):
    # A process that has just ended may still be counted.
    deadline = time.monotonic() + 5
    while True:
        try:
            os.rmdir(folder)
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _hierarchies():
    if is_v2():
        return [ROOT]
    # The same hierarchy may have two names, such as cpu and cpu,cpuacct.
    return list({path.resolve(): path for path in ROOT.iterdir() if (path / "tasks").exists() or (path / "cgroup.procs").exists()}.values())
