"""The programs of a node. kubelet, kube-proxy, containerd and a name server for Pods are built once per set of versions. runc and the network
plugins are those of Debian's packages, which scripts/setup unpacks."""

import functools
import hashlib
import pathlib

from controlplane.binaries import build_of, cache_directory

MODULE = pathlib.Path(__file__).resolve().parent  # the folder of go.mod
DNS_MODULE = MODULE / "dns"
RUNTIME_MODULE = MODULE / "runtime"
DRIVER_MODULE = MODULE / "driver"

NODE = {"kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy", "kubelet": "k8s.io/kubernetes/cmd/kubelet"}
_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
RUNTIME = {name: f"{_CONTAINERD}/{name}" for name in ("containerd", "ctr", "containerd-shim-runc-v2")}
DRIVER = {"dra-example-kubeletplugin": "sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin"}
DRIVER_ASSETS = {"chart": ("sigs.k8s.io/dra-example-driver", "deployments/helm/dra-example-driver")}
# package: a folder of it that a node uses
UNPACKED = {"runc": "usr/sbin", "containernetworking-plugins": "usr/lib/cni"}


def build_node():
    """Returns the directory with kubelet and kube-proxy. Builds them if they are missing."""
    return build_of(MODULE, NODE, {}, "the programs of a node", "about a minute after the control plane")


def build_dns():
    """Returns the path of the name server. Builds it if it is missing."""
    source = DNS_MODULE / "main.go"
    name = f"coredns-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    return build_of(DNS_MODULE, {name: "."}, {}, "CoreDNS", "about half a minute after the control plane") / name


@functools.cache
def build_runtime():
    """Returns the directory with containerd, its shim and ctr. Builds them if they are missing."""
    return build_of(RUNTIME_MODULE, RUNTIME, {}, "containerd", "about a minute after the programs of a node")


def build_driver():
    """Returns the directory with the example driver for devices behind claims, and its chart. Builds it if it is missing."""
    return build_of(DRIVER_MODULE, DRIVER, DRIVER_ASSETS, "the example driver", "a few seconds after JobSet")


def unpacked(package):
    """Returns the folder of a package's programs."""
    return cache_directory() / "tools" / package / UNPACKED[package]
