"""Builds the control plane's programs from their pinned Go modules, once per set of versions.

They are kept outside the checkout, keyed by what they are made of, so that a second checkout does not build them again.
"""

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parents[1]

# program: its main package
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "jobset": "sigs.k8s.io/jobset",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
}
# What the modules ship besides Go code, and we install as it is.
ASSETS = {
    "jobset-config": ("sigs.k8s.io/jobset", "config/components"),
    "kwok-stages": ("sigs.k8s.io/kwok", "kustomize/stage"),
}
ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -trimpath"}


def cache_directory():
    base = os.environ.get("SIGNALBOX_CACHE")
    if base:
        return pathlib.Path(base)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "signalbox"


def build():
    """The directory with the programs; builds them if they are not there yet."""
    target = cache_directory() / "cluster" / _key()
    if (target / "complete").exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two checkouts that build at once, one builds and one waits
        if not (target / "complete").exists():
            _build_into(target)
    return target


def _key():
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((HERE / name).read_bytes())
    digest.update(json.dumps([PROGRAMS, ASSETS, ENVIRONMENT]).encode())
    return digest.hexdigest()[:16]


def _build_into(target):
    if not shutil.which("go"):
        raise RuntimeError("there is no Go toolchain on the PATH; run scripts/setup, which gets one")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="building-", dir=target.parent))
    try:
        for number, (program, package) in enumerate(PROGRAMS.items(), start=1):
            print(f"[{number}/{len(PROGRAMS)}] {program} ...", end=" ", flush=True, file=sys.stderr)
            started = time.monotonic()
            _go("build", "-ldflags", f"-s -w {_version_stamp()}", "-o", str(scratch / program), package)
            print(f"{time.monotonic() - started:.0f} s", flush=True, file=sys.stderr)
        for name, (module, path) in ASSETS.items():
            source = pathlib.Path(_go("list", "-m", "-f", "{{.Dir}}", module).strip()) / path
            shutil.copytree(source, scratch / name)
            subprocess.run(["chmod", "-R", "u+w", str(scratch / name)], check=True)
        (scratch / "complete").touch()
        os.rename(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _version_stamp():
    """What a release build of Kubernetes says of itself; clients read it from /version."""
    version = _go("list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").strip()
    major, minor = version.lstrip("v").split(".")[:2]
    package = "k8s.io/component-base/version"
    return (f"-X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor} "
            f"-X {package}.gitTreeState=clean")


def _go(*arguments):
    run = subprocess.run(["go", *arguments], cwd=HERE, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"go {' '.join(arguments[:2])} failed:\n{run.stderr[-4000:]}")
    return run.stdout
