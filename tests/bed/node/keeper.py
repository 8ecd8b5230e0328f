#!/usr/bin/python3
"""keeper.py SETTINGS: runs one node, and removes what it leaves behind. A program of its own, which nodes.py starts.

The node has a mount and a process namespace of its own, so that its programs, its containers and their mounts end all at once, as when a
machine loses its power. Its cgroups and its data do not end with it: this program removes them, also those of a keeper that was killed.
"""

import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from controlplane.processes import start_time  # noqa: E402
from node import cgroups, containerd  # noqa: E402
from node.network import address_of, enter, pods_of  # noqa: E402

_CLONE_NEWNS, _CLONE_NEWPID = 0x20000, 0x20000000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

# The folder of the node, under which it has its files and sockets: the path of a socket has at most 107 bytes.
HERE = pathlib.Path("/run/node")
# The kubelet sets these on the machine, unless they are so already: it finds files with the values.
SYSCTLS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
           "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}


def main():
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    awaited = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    if settings["parent"]:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != settings["parent"]:  # it has ended already
            return 1
    name = f"signalbox-node-{os.getpid()}-{start_time(os.getpid())}"
    data = pathlib.Path(settings["data"])
    remove_leftovers(data)
    try:
        cgroups.create(name)
        enter(settings["network"])
        node = start(settings, name, data / name)
        while signal.sigwait(awaited) == signal.SIGCHLD:
            if os.waitpid(node, os.WNOHANG)[0]:
                print("the node has ended by itself", flush=True)
                return 1
        os.kill(node, signal.SIGKILL)
        os.waitpid(node, 0)  # returns after the last process of its namespace
        return 0
    finally:
        remove(name, data)


def remove_leftovers(data):
    """Removes cgroups and data of keepers that were killed."""
    data.mkdir(parents=True, exist_ok=True)
    with open(data / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another keeper may remove the same
        for name in {*cgroups.names(), *(path.name for path in data.glob("signalbox-node-*"))}:
            pid, since = name.split("-")[2:4]
            if start_time(int(pid)) != int(since):
                remove(name, data)


def remove(name, data):
    cgroups.remove(name)
    if (data / name).exists():
        shutil.rmtree(data / name)


def start(settings, name, data):
    """Returns the id of the node's first process."""
    unshare(_CLONE_NEWPID)  # of children
    child = os.fork()
    if child:
        return child
    try:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        unshare(_CLONE_NEWNS)  # not in the parent, which removes folders that are mounted here
        be_the_node(settings, name, data)
    except BaseException as error:  # pylint: disable=broad-except
        print(f"the node cannot start: {error!r}", flush=True)
    os._exit(1)


def unshare(what):
    if _libc.unshare(what):
        raise OSError(ctypes.get_errno(), "a namespace cannot be made")


def be_the_node(settings, name, data):
    number = settings["number"]
    mount_folders(data, pathlib.Path(settings["directory"]))
    for path, value in {"net/ipv4/ip_forward": 1, "net/bridge/bridge-nf-call-iptables": 1}.items():
        pathlib.Path("/proc/sys", path).write_text(str(value))
    networks = HERE / "networks"
    networks.mkdir(exist_ok=True)
    (networks / "bridge.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [{
        "type": "bridge", "bridge": "pods", "isDefaultGateway": True, "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": pods_of(number)}]]}}]}))
    socket = HERE / "containerd.sock"
    containerd.write_config(HERE / "containerd.toml", "/var/lib/containerd", "/run/containerd", socket, networks)
    (HERE / "kubelet.yaml").write_text(json.dumps(kubelet_configuration(settings, name, socket)))
    programs = pathlib.Path(settings["programs"])
    commands = {
        "containerd": [containerd.program("containerd"), "--config", HERE / "containerd.toml"],
        "kube-proxy": [
            programs / "kube-proxy", "--kubeconfig", settings["proxy_kubeconfig"], "--hostname-override", settings["name"], "--proxy-mode", "nftables",
            "--cluster-cidr", "10.244.0.0/16", "--healthz-bind-address", "127.0.0.1:10256", "--metrics-bind-address", "127.0.0.1:10249",
            # Limits of the whole machine stay as they are.
            "--conntrack-max-per-core", "0", "--conntrack-tcp-timeout-established", "0", "--conntrack-tcp-timeout-close-wait", "0"],
        "kubelet": [
            programs / "kubelet", "--config", HERE / "kubelet.yaml", "--kubeconfig", settings["kubeconfig"], "--hostname-override", settings["name"],
            "--node-ip", address_of(number), "--cert-dir", "/var/lib/kubelet/pki"],
    }
    names = {launch("containerd", commands): "containerd"}
    wait_for_socket(socket)
    names.update({launch(program, commands): program for program in ("kube-proxy", "kubelet")})
    while True:
        # As the first process of its namespace, it is the parent of every orphan.
        pid, status = os.wait()
        if pid not in names:
            continue
        program = names.pop(pid)
        if program != "kubelet" or not os.WIFSIGNALED(status):
            print(f"{program} has ended with {os.waitstatus_to_exitcode(status)}; its log is {settings['directory']}/{program}.log", flush=True)
            return
        names[launch(program, commands)] = program  # as the service of a node does


def mount_folders(data, directory):
    """Gives the node a /run, a /var/lib and a /var/log of its own, and its directory at HERE."""
    mount("--make-rprivate", "/")
    mount("-t", "proc", "proc", "/proc")
    for folder in ("lib", "log"):
        (data / folder).mkdir(parents=True)
    store = pathlib.Path(json.loads((directory / "settings.json").read_text())["store"])
    containerd.copy_of(store, data / "lib" / "containerd")
    # An empty file: Pods that ask for the machine's name server have none, as there is no way out.
    resolver = directory / "resolv.conf"
    resolver.touch()
    mount("--bind", resolver, os.path.realpath("/etc/resolv.conf"))
    mount("--bind", data / "lib", "/var/lib")
    mount("--bind", data / "log", "/var/log")
    mount("-t", "tmpfs", "tmpfs", "/run")
    HERE.mkdir()
    mount("--bind", directory, HERE)
    os.makedirs("/var/lib/kubelet")
    for folder in ("/var/lib", "/run"):
        mount("--make-rshared", folder)
    for path, value in SYSCTLS.items():
        file = directory / path.replace("/", "_")
        file.write_text(f"{value}\n")
        mount("--bind", file, f"/proc/sys/{path}")


def mount(*words):
    run = subprocess.run(["mount", *map(str, words)], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"mount {' '.join(map(str, words))}: {run.stderr.strip()}")


def kubelet_configuration(settings, name, socket):
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": settings["ca_file"]}},
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{name}", "failCgroupV1": False, "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{socket}",
        "clusterDNS": [address_of(1)], "clusterDomain": "cluster.local", "resolvConf": str(HERE / "resolv.conf"),
        "maxPods": 80, "featureGates": settings["gates"],
        # How soon a Pod sees a change of its Secret. JobSet's controller is ready only once it has seen its certificate.
        "syncFrequency": "5s",
        # The disk is the machine's, and may be well filled.
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
    }


def launch(name, commands):
    """Starts one of the commands (name: arguments). Returns the id of its process."""
    with open(HERE / f"{name}.log", "ab") as file:
        return subprocess.Popen([str(argument) for argument in commands[name]], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                env={**os.environ, **containerd.environment()}).pid


def wait_for_socket(socket):
    deadline = time.monotonic() + 60
    while containerd.control(socket, "version").returncode:
        if time.monotonic() > deadline:
            raise RuntimeError("containerd does not answer")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
