"""Builds the control plane's programs, and Helm, from their pinned Go modules, once per set of versions. CRDs of other projects come
from such modules as well.

The programs are kept outside the checkout, keyed by their inputs, so that a second checkout does not build them again.
"""

import collections
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MODULE = pathlib.Path(__file__).resolve().parents[1]  # the folder of go.mod
# Each has a go.mod of its own: a change of it does not build the control plane again, and each has modules of Kubernetes that its release
# works with. Those of JobSet, Kueue and Helm require the same versions, so that Go compiles a package that they share once.
JOBSET_MODULE = MODULE / "jobset"
HELM_MODULE = MODULE / "helm"
KUEUE_MODULE = MODULE / "kueue"
OTHERS_MODULE = MODULE / "others"
COSCHEDULING_MODULE = MODULE / "coscheduling"
YUNIKORN_MODULE = MODULE / "yunikorn"
ROUND_TRIP_MODULE = MODULE / "roundtrip"

# program: its main package. In this order each build prepares much of the next.
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
}
# Files of modules that are installed unchanged: name here, module, path in it.
ASSETS = {"kwok-stages": ("sigs.k8s.io/kwok", "kustomize/stage")}
JOBSET = {"jobset": "sigs.k8s.io/jobset"}
JOBSET_ASSETS = {"jobset-config": ("sigs.k8s.io/jobset", "config/components")}
KUEUE = {"kueue": "sigs.k8s.io/kueue/cmd/kueue"}
KUEUE_ASSETS = {"kueue-config": ("sigs.k8s.io/kueue", "config")}
COSCHEDULING = {
    "coscheduling-scheduler": "sigs.k8s.io/scheduler-plugins/cmd/scheduler",
    "coscheduling-controller": "sigs.k8s.io/scheduler-plugins/cmd/controller",
}
COSCHEDULING_ASSETS = {"coscheduling-config": ("sigs.k8s.io/scheduler-plugins", "manifests")}
YUNIKORN_ASSETS = {"yunikorn-config": ("github.com/apache/yunikorn-k8shim", "deployments/scheduler")}
TRAINER = {"trainer": "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"}
TRAINER_ASSETS = {"trainer-config": ("github.com/kubeflow/trainer/v2", "manifests/base")}
CRDS_OF_OTHERS = {
    "cert-manager": ("github.com/cert-manager/cert-manager", "deploy/crds"),
    "prometheus-operator": ("github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd"),
}
# GOFLAGS replaces the user's flags, so that the same inputs give the same programs everywhere. The linker drops debug information (-w), so
# the compiler does not make it either: that saves about a sixth of its time.
ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -trimpath -gcflags=all=-dwarf=false"}
LINKER_FLAGS = "-s -w"
REPORT_SECONDS = 15


def cache_directory():
    base = os.environ.get("SIGNALBOX_CACHE")
    if base:
        return pathlib.Path(base)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "signalbox"


def build():
    """Returns the directory with the control plane's programs. Builds missing ones."""
    return build_of(MODULE, PROGRAMS, ASSETS, "the control plane's programs", "about six minutes on two cores")


def build_jobset():
    """Returns the directory with JobSet's controller and its manifests. Builds it if it is missing."""
    return build_of(JOBSET_MODULE, JOBSET, JOBSET_ASSETS, "JobSet", "about two minutes on two cores")


def build_helm():
    """Returns the path of helm. Builds it if it is missing."""
    return build_of(HELM_MODULE, {"helm": "helm.sh/helm/v4/cmd/helm"}, {}, "Helm", "a minute after JobSet") / "helm"


def build_kueue():
    """Returns the directory with Kueue's manager and its manifests. Builds it if it is missing."""
    return build_of(KUEUE_MODULE, KUEUE, KUEUE_ASSETS, "Kueue", "about two minutes after JobSet")


def build_coscheduling():
    """Returns the directory with the scheduler and the controller of scheduler-plugins and their manifests. Builds it if it is missing."""
    return build_of(COSCHEDULING_MODULE, COSCHEDULING, COSCHEDULING_ASSETS, "the coscheduling scheduler", "about four minutes on two cores")


def build_yunikorn():
    """Returns (path of YuniKorn's scheduler, directory with its manifests). Builds it if it is missing."""
    source = YUNIKORN_MODULE / "main.go"
    name = f"yunikorn-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    built = build_of(YUNIKORN_MODULE, {name: "."}, YUNIKORN_ASSETS, "YuniKorn", "about three minutes on two cores")
    return built / name, built / "yunikorn-config"


def build_trainer():
    """Returns the directory with Kubeflow Trainer's manager, in the version that Kueue uses, and its manifests. Builds it if missing."""
    return build_of(KUEUE_MODULE, TRAINER, TRAINER_ASSETS, "Kubeflow Trainer", "a few seconds after Kueue")


def build_struct_tags():
    """Returns the path of tests/bed/jobset/structtags. Builds it if it is missing."""
    source = JOBSET_MODULE / "structtags" / "main.go"
    name = f"structtags-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    return build_of(JOBSET_MODULE, {name: "./structtags"}, {}, "the reader of struct tags", "a few seconds") / name


def build_round_trip():
    """Returns the path of tests/bed/roundtrip. Builds it if it is missing."""
    source = ROUND_TRIP_MODULE / "main.go"
    name = f"roundtrip-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    return build_of(ROUND_TRIP_MODULE, {name: "."}, {}, "Kubeflow Trainer's types", "a few seconds") / name


def crds_of_others():
    """Returns a directory with a directory of CRDs for each of CRDS_OF_OTHERS. Fetches missing ones."""
    return build_of(OTHERS_MODULE, {}, CRDS_OF_OTHERS, "CRDs of others", "a few seconds")


def build_of(module, programs, assets, what, how_long):
    """Returns the directory with programs and assets of a folder with a go.mod. Builds them if they are missing."""
    target = cache_directory() / "cluster" / _key(module, programs, assets)
    if (target / "complete").exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process is building for the test bed; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "complete").exists():
            began = time.monotonic()
            _say(f"building {what} into {target}, once: {how_long}")
            _build_into(target, module, programs, assets)
            _say(f"built in {time.monotonic() - began:.0f} s")
    return target


def _key(module, programs, assets):
    digest = hashlib.sha256()
    for file in (module / "go.mod", module / "go.sum"):
        digest.update(file.read_bytes())
    digest.update(json.dumps([programs, assets, ENVIRONMENT, LINKER_FLAGS]).encode())
    digest.update(go("env", "GOVERSION", "GOARCH").encode())
    return digest.hexdigest()[:16]


def _build_into(target, module, programs, assets):
    # This process holds the lock, so a half-built directory belongs to a build that was killed.
    for left in target.parent.glob("building-*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="building-", dir=target.parent))
    try:
        stamp = _version_stamp(module) if {"kube-apiserver", "kubelet"} & set(programs) else ""
        for number, (program, package) in enumerate(programs.items(), start=1):
            _compile(module, f"[{number}/{len(programs)}] {program}", package, scratch / program, stamp)
        for name, (origin, path) in assets.items():
            source = pathlib.Path(json.loads(go("mod", "download", "-json", origin, module=module))["Dir"]) / path
            shutil.copytree(source, scratch / name)
            subprocess.run(["chmod", "-R", "u+w", str(scratch / name)], check=True)  # the module cache is read-only
        (scratch / "complete").touch()
        shutil.rmtree(target, ignore_errors=True)
        os.rename(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _compile(module, title, package, output, stamp):
    """Builds one program. Reports progress every few seconds, as the largest programs take minutes."""
    began = reported = time.monotonic()
    packages, complaints = 0, collections.deque(maxlen=40)
    command = [go_program(), "build", "-v", "-ldflags", f"{LINKER_FLAGS} {stamp}", "-o", str(output), package]
    with subprocess.Popen(command, cwd=module, env={**os.environ, **ENVIRONMENT}, stderr=subprocess.PIPE, text=True) as go:
        try:
            for line in go.stderr:
                if len(line.split()) > 1:  # go prints the name of each package that it starts with
                    complaints.append(line)
                else:
                    packages += 1
                if time.monotonic() - reported >= REPORT_SECONDS:
                    reported = time.monotonic()
                    _say(f"{title}: {reported - began:.0f} s, {packages} packages")
        except BaseException:
            go.send_signal(signal.SIGINT)  # it ends at once and removes its temporary files
            raise
    if go.returncode != 0:
        how = f"exit status {go.returncode}" if go.returncode > 0 else f"it was ended by signal {-go.returncode}"
        raise RuntimeError(f"go build {package} failed, {how}:\n{''.join(complaints)}".rstrip(":\n"))
    _say(f"{title}: done in {time.monotonic() - began:.0f} s")


def _version_stamp(module):
    """Returns the version that a release build of Kubernetes reports; clients read it from /version."""
    version = go("list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes", module=module).strip()
    major, minor = version.lstrip("v").split(".")[:2]
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())


def go(*arguments, module=MODULE):
    """Returns the output of the go command, in the test bed's module or another one."""
    run = subprocess.run([go_program(), *arguments], cwd=module, env={**os.environ, **ENVIRONMENT}, capture_output=True,
                         text=True)
    if run.returncode != 0:
        raise RuntimeError(f"go {' '.join(arguments[:2])} failed:\n{run.stderr[-4000:]}")
    return run.stdout


def go_program():
    """Returns the go of scripts/setup, if that had to install one; else the one on the PATH."""
    own = cache_directory() / "tools" / "go-venv" / "bin" / "go"
    program = str(own) if own.exists() else shutil.which("go")
    if not program:
        raise RuntimeError("there is no Go toolchain on the PATH; run scripts/setup, which gets one")
    return program


def _say(text):
    print(text, flush=True, file=sys.stderr)
