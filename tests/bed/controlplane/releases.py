"""The control plane's programs, with other releases of Kubernetes, JobSet and Kueue where the environment names them:

  SIGNALBOX_KUBERNETES=v1.36.3     the API server, the controller manager and the scheduler
  SIGNALBOX_JOBSET=v0.11.1         JobSet's controller, with its CRD, role and webhooks
  SIGNALBOX_KUEUE=v0.17.0          Kueue's manager, with its manifests

Each is built from a module of its own, with the dependencies that the release itself has chosen, and kept like the others. Its sums come
from Go's checksum database, as this repository records only those of the usual releases.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from . import binaries
from .binaries import JOBSET, JOBSET_ASSETS, KUEUE, KUEUE_ASSETS, PROGRAMS, cache_directory, go

KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_VERSION = re.compile(r"v\d+\.\d+\.\d+(-[0-9a-z.]+)?")


def build():
    """Returns a directory with the control plane's programs and JobSet's. Builds missing ones."""
    programs = binaries.build()
    others = {}
    if version := _wanted("SIGNALBOX_KUBERNETES"):
        module = _module("k8s.io/kubernetes", version, [PROGRAMS[name] for name in KUBERNETES], _staging(version))
        built = binaries.build_of(module, {name: PROGRAMS[name] for name in KUBERNETES}, {}, f"Kubernetes {version}", "about ten minutes on two cores")
        others |= {name: built / name for name in KUBERNETES}
    jobset = _build_jobset()
    others |= {name: jobset / name for name in (*JOBSET, *JOBSET_ASSETS)}
    return _beside(programs, others)


def _build_jobset():
    version = _wanted("SIGNALBOX_JOBSET")
    if not version:
        return binaries.build_jobset()
    module = _module("sigs.k8s.io/jobset", version, list(JOBSET.values()))
    return binaries.build_of(module, JOBSET, JOBSET_ASSETS, f"JobSet {version}", "about two minutes on two cores")


def build_kueue():
    """Returns the directory with Kueue's manager and its manifests. Builds it if it is missing."""
    version = _wanted("SIGNALBOX_KUEUE")
    if not version:
        return binaries.build_kueue()
    module = _module("sigs.k8s.io/kueue", version, list(KUEUE.values()))
    return binaries.build_of(module, KUEUE, KUEUE_ASSETS, f"Kueue {version}", "about five minutes on two cores")


def minor_of_kubernetes():
    """Returns the 37 of v1.37.2."""
    version = _wanted("SIGNALBOX_KUBERNETES") or re.search(r"k8s\.io/kubernetes (v\S+)", (binaries.MODULE / "go.mod").read_text())[1]
    return int(version.split(".")[1])


def _wanted(variable):
    version = os.environ.get(variable, "")
    if version and not _VERSION.fullmatch(version):
        raise RuntimeError(f"{variable}={version} is no version such as v1.2.3")
    return version


def _module(path, version, packages, also=()):
    """Returns a folder with the go.mod and go.sum of a module that requires this release."""
    folder = cache_directory() / "modules" / f"{path.rpartition('/')[2]}-{version}"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    required = "".join(f"\t{module} {which}\n" for module, which in [(path, version), *also])
    imports = "".join(f"\t_ {json.dumps(package)}\n" for package in packages)
    (folder / "go.mod").write_text(f"module signalbox.test/release\n\ngo 1.26.0\n\nrequire (\n{required})\n")
    # Only for Go's commands, which otherwise drop requirements of programs.
    (folder / "tools.go").write_text(f"//go:build tools\n\npackage tools\n\nimport (\n{imports})\n")
    command = [binaries.go_program(), "list", "-mod=mod", "-deps", *packages]
    run = subprocess.run(command, cwd=folder, env={**os.environ, **binaries.ENVIRONMENT, "GOFLAGS": ""}, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{path} {version} cannot be downloaded as a Go module:\n{run.stderr[-4000:]}")
    (folder / "complete").touch()
    return folder


def _staging(version):
    """Returns the modules that Kubernetes' own sources replace by folders: their releases are v0.MINOR.PATCH.
    No program needs the samples."""
    source = pathlib.Path(json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@{version}"))["Dir"])
    names = re.findall(r"^\s*(k8s\.io/\S+) => \./staging/", (source / "go.mod").read_text(), re.MULTILINE) or \
        [f"k8s.io/{folder.name}" for folder in sorted((source / "staging" / "src" / "k8s.io").iterdir()) if folder.is_dir()]
    return [(name, "v0." + version.split(".", 1)[1]) for name in names if not name.startswith("k8s.io/sample-")]


def _beside(programs, others):
    """Returns a folder with links to the programs, and to these beside them or in their place."""
    key = hashlib.sha256(json.dumps([str(programs), sorted(map(str, others.values()))]).encode()).hexdigest()[:16]
    folder = cache_directory() / "cluster" / f"with-{key}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for each in programs.iterdir():
            if each.name not in others and each.name != "complete":
                (folder / each.name).symlink_to(each)
        for name, path in others.items():
            (folder / name).symlink_to(path)
        (folder / "complete").touch()
    return folder
