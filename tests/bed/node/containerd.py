"""containerd on a node: its configuration, and a store of images from which each node starts.

An import of the training image takes far longer than the start of a node. So it is done once, and a node begins with hard links to the
store. What containerd changes in place, its databases, is copied.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from controlplane.binaries import cache_directory
from controlplane.processes import Process

from .programs import build_runtime, unpacked
from .registry import ADDRESS as REGISTRY

PAUSE = "localhost/pause:1"
NAMESPACE = "k8s.io"  # where the kubelet looks for images
_TIMEOUT = 60


def program(name):
    return build_runtime() / name


def environment():
    """Returns the environment of containerd, which looks for runc and its shim on the PATH."""
    return {"PATH": ":".join([str(build_runtime()), str(unpacked("runc")), "/usr/sbin:/usr/bin:/sbin:/bin"])}


def write_config(path, root, state, socket, networks):
    """networks: the folder with the configuration of the network plugins."""
    registries = path.parent / "registries"
    (registries / REGISTRY).mkdir(parents=True, exist_ok=True)
    (registries / REGISTRY / "hosts.toml").write_text(f'server = "http://{REGISTRY}"\n')
    path.write_text(f"""version = 4
root = "{root}"
state = "{state}"
imports = []  # nothing of this machine's own
[plugins."io.containerd.server.v1.grpc"]
  address = "{socket}"
[plugins."io.containerd.server.v1.ttrpc"]
  address = "{socket}.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "{state}/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "{registries}"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  # Not every machine lets a process lower its score for the kernel's choice of whom to kill.
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  cdi_spec_dirs = ["/run/cdi"]
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{unpacked("containernetworking-plugins")}"]
    conf_dir = "{networks}"
""")


def prepared(archives):
    """Returns a folder for containerd's `root` that has these images. Imports them if this was not done yet."""
    key = hashlib.sha256("\n".join([str(build_runtime()), *(archive.name for archive in archives)]).encode()).hexdigest()[:16]
    store = cache_directory() / "images" / f"store-{key}"
    store.parent.mkdir(parents=True, exist_ok=True)
    with open(store.parent / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not store.exists():
            began = time.monotonic()
            print(f"importing the images of the real nodes into {store}, once", flush=True, file=sys.stderr)
            # This process holds the lock, so the other stores are of earlier images, or of imports that were interrupted.
            for left in store.parent.glob("store-*"):
                shutil.rmtree(left)
            unfinished = store.with_name(f"{store.name}.unfinished")
            _import(archives, unfinished)
            unfinished.rename(store)
            print(f"imported in {time.monotonic() - began:.0f} s", flush=True, file=sys.stderr)
    return store


def copy_of(source, target):
    """Fills a node's `root` with a store, or a folder of it with one of the store's."""
    target.mkdir(parents=True)
    status = os.stat(source)
    os.chown(target, status.st_uid, status.st_gid)
    target.chmod(status.st_mode & 0o7777)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                copy_of(entry.path, target / entry.name)
            elif entry.name.endswith(".db"):
                shutil.copy2(entry.path, target / entry.name)
            else:
                os.link(entry.path, target / entry.name, follow_symlinks=False)


def _import(archives, root):
    with tempfile.TemporaryDirectory(prefix="signalbox-import-") as scratch:
        scratch = pathlib.Path(scratch).resolve()
        write_config(scratch / "config.toml", root, scratch / "state", _short("socket"), scratch / "networks")
        # In a mount namespace of its own, so that an interrupted import leaves no mount.
        daemon = Process("containerd", ["unshare", "--mount", f"--wd={scratch}", program("containerd"), "--config", scratch / "config.toml"],
                         scratch / "log", environment())
        try:
            wait_until_served(scratch / "socket", daemon)
            for archive in archives:
                import_archive(scratch / "socket", archive)
        finally:
            daemon.ask_to_end()
            if not daemon.wait(20):
                daemon.kill()


def control(socket, *words):
    """Runs a command of the containerd with this socket."""
    return subprocess.run([program("ctr"), "--address", _short(socket.name), "--namespace", NAMESPACE, *words], cwd=socket.parent,
                          capture_output=True, text=True)


def _short(name):
    """Returns the path of a socket in the present folder: one with all folders may have more than the 107 bytes that the kernel takes."""
    return f"/proc/self/cwd/{name}"


def import_archive(socket, archive):
    run = control(socket, "images", "import", pathlib.Path(archive).resolve())
    if run.returncode:
        raise RuntimeError(f"{archive} cannot be imported: {run.stderr.strip()}")


def wait_until_served(socket, daemon):
    deadline = time.monotonic() + _TIMEOUT
    while control(socket, "version").returncode:
        if not daemon.running() or time.monotonic() > deadline:
            raise RuntimeError(f"containerd does not answer; the end of {daemon.log}:\n{daemon.tail()}")
        time.sleep(0.05)
