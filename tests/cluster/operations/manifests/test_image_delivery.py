"""scripts/images --load and --push: the commands that they run, and the overlays that name what these have loaded or pushed. The programs of
clusters are fakes here that record their arguments; tests/cluster/operations/test_images.py pushes to a real registry."""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

from architectures import THIS
from images import PROGRAMS, images_of_nodes, images_of_registry, load_command, push_command, reference
from schema_server import ROOT

VERSION = "1.2.3"
DIGESTS = {"webhook": "sha256:" + "0123456789abcdef" * 4, "reconciler": "sha256:" + "fedcba9876543210" * 4}
LOADED = {"localhost/signalbox-webhook:1.2.3-0123456789ab", "localhost/signalbox-reconciler:1.2.3-fedcba987654"}
PUSHED = {f"registry.example.com/team/signalbox-{program}:{VERSION}@{DIGESTS[program]}" for program in PROGRAMS}
OVERLAYS = sorted(path.name for path in (ROOT / "manifests" / "overlays").iterdir())


@pytest.mark.parametrize("cluster, want", [
    ("kind", "kind load image-archive a.tar --name kind"),
    ("kind:dev", "kind load image-archive a.tar --name dev"),
    ("minikube", "minikube image load a.tar --profile minikube"),
    ("minikube:dev", "minikube image load a.tar --profile dev"),
    ("k3s", "k3s ctr images import a.tar"),
    ("microk8s", "microk8s ctr images import a.tar"),
    ("containerd", "ctr --namespace k8s.io images import a.tar"),
])
def test_each_kind_of_cluster_has_its_own_command_that_loads(cluster, want):
    assert " ".join(load_command(cluster, "a.tar")) == want


def test_only_what_talks_to_containerd_itself_needs_root():
    assert load_command("kind", "a.tar", as_root=False)[0] == "kind"
    assert load_command("k3s", "a.tar", as_root=False)[:2] == ["sudo", "k3s"]


@pytest.mark.parametrize("registry, plain", [
    ("registry.example.com/team/", False), ("registry.example.com:5000/", False), ("localhost.example.com/", False),
    ("localhost:5001/", True), ("127.0.0.1:5001/team/", True),
])
def test_only_a_registry_of_this_machine_may_lack_tls(registry, plain):
    image = images_of_registry(registry, VERSION, DIGESTS)[0]
    command = push_command("out/signalbox-webhook", VERSION, image)
    assert command[-2:] == [f"oci:out/signalbox-webhook:{VERSION}", f"docker://{registry}signalbox-webhook:{VERSION}"]
    assert ("--dest-tls-verify=false" in command) == plain


def test_another_build_is_loaded_under_another_name():
    other = DIGESTS | {"webhook": DIGESTS["reconciler"]}
    names, others = ([reference(image) for image in images_of_nodes(VERSION, digests)] for digests in (DIGESTS, other))
    assert names[0] != others[0] and names[1] == others[1]


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("images_script", str(ROOT / "scripts" / "images"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Puts fakes on the PATH. Returns the lines that they were called with."""
    folder, calls = tmp_path / "fakes", tmp_path / "calls"
    folder.mkdir()
    calls.touch()
    for name in ("kind", "skopeo"):
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {calls}\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return lambda: calls.read_text().splitlines()


@pytest.fixture
def out(tmp_path):
    """What the script has built: of the images only their indexes."""
    for program, digest in DIGESTS.items():
        layout = tmp_path / "out" / f"signalbox-{program}"
        layout.mkdir(parents=True)
        (layout / "index.json").write_text(json.dumps({"manifests": [
            {"digest": digest, "annotations": {"org.opencontainers.image.ref.name": VERSION}}]}))
    return tmp_path / "out"


def images_in(plane, folder):
    """Returns the names of Signalbox's images in the objects of an overlay."""
    return set(re.findall(r"(?m)^ *(?:- )?image: *(\S*signalbox-\S*)$", plane.kubectl("kustomize", folder)))


def test_images_are_loaded_and_then_the_overlays_name_them(script, programs, plane, out, capsys):
    script.deliver(out, VERSION, argparse.Namespace(load="kind:dev", push=None))
    assert programs() == [line for program in PROGRAMS for line in (
        f"skopeo copy --quiet oci:{out}/signalbox-{program}:{VERSION} "
        f"docker-archive:{out}/signalbox-{program}.tar:localhost/signalbox-{program}:{VERSION}-{DIGESTS[program][7:19]}",
        f"kind load image-archive {out}/signalbox-{program}.tar --name dev")]
    assert sorted(path.name for path in (out / "overlays").iterdir()) == OVERLAYS
    assert images_in(plane, out / "overlays" / "progress") == LOADED, "of all three Deployments"
    assert capsys.readouterr().out.splitlines()[-1] == f"  kubectl apply --server-side -k {out}/overlays/single-node"


def test_images_are_pushed_and_then_the_overlays_name_them_by_digest(script, programs, plane, out, capsys):
    script.deliver(out, VERSION, argparse.Namespace(load=None, push="registry.example.com/team"))
    assert programs() == [
        f"skopeo copy --quiet --all --preserve-digests oci:{out}/signalbox-{program}:{VERSION} "
        f"docker://registry.example.com/team/signalbox-{program}:{VERSION}" for program in PROGRAMS]
    assert images_in(plane, out / "overlays" / "self-signed") == PUSHED
    assert capsys.readouterr().out.splitlines()[-1] == f"  kubectl apply --server-side -k {out}/overlays/self-signed"


def test_a_second_load_replaces_archives_and_overlays(script, programs, out):
    for stale in (out / "signalbox-webhook.tar", out / "overlays" / "gone" / "kustomization.yaml"):
        stale.parent.mkdir(parents=True, exist_ok=True)
        stale.touch()
    script.deliver(out, VERSION, argparse.Namespace(load="kind", push=None))
    assert not (out / "signalbox-webhook.tar").exists(), "skopeo, a fake here, would refuse to change it"
    assert sorted(path.name for path in (out / "overlays").iterdir()) == OVERLAYS and programs()


def test_a_command_that_fails_is_shown_with_what_it_said_and_no_overlay_is_written(script, programs, out, tmp_path):
    (tmp_path / "fakes" / "kind").write_text('#!/bin/sh\necho "no nodes found for cluster" >&2; exit 1\n')
    with pytest.raises(SystemExit) as ended:
        script.deliver(out, VERSION, argparse.Namespace(load="kind", push=None))
    assert "kind load image-archive" in str(ended.value) and str(ended.value).endswith("no nodes found for cluster")
    assert not (out / "overlays").exists() and programs()


def refused(*options, path="/nonexistent"):
    run = subprocess.run([sys.executable, ROOT / "scripts" / "images", *options], capture_output=True, text=True, check=False, env={"PATH": path})
    return run.returncode, run.stderr.splitlines()


def test_missing_programs_are_named_before_anything_is_built(tmp_path):
    assert refused(tmp_path / "out", "--load", "kind") == (1, [
        "scripts/images: strip, cmake, ninja, buildah, skopeo: not on the PATH; scripts/setup --images installs what is missing",
        "scripts/images: kind: not on the PATH, and --load kind needs it"])
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(THIS != "amd64", reason="a machine of arm64 builds for itself alone")
def test_what_lacks_to_build_for_another_architecture_is_named_with_the_option_that_installs_it():
    assert refused("--arch", "amd64,arm64", "--binaries", "bin", "--layout")[0] == 2
    assert refused("--arch", "arm64", "--layout")[1][1:] == [
        "scripts/images: aarch64-linux-gnu-g++-12, aarch64-linux-gnu-strip, qemu-aarch64: not on the PATH; "
        "scripts/setup --arm64 installs what is missing"]


@pytest.mark.parametrize("options, said", [
    (["--arch", "arm"], "--arch: 'arm' is none of "),
    (["--arch", "amd64,"], "--arch: '' is none of "),
    (["--load", "knid"], "'knid' is none of kind[:NAME], minikube[:PROFILE], k3s, microk8s, containerd and real"),
    (["--load", "k3s:dev"], "'k3s:dev' is none of"),
    (["--load", ""], "'' is none of"),
    (["--push", "https://registry.example.com"], "'https://registry.example.com' is no registry such as registry.example.com/team"),
    (["--push", ""], "'' is no registry"),
    (["--push", "registry.example.com", "--load", "kind"], "not allowed with argument"),
])
def test_a_destination_that_cannot_be_is_refused(options, said):
    status, lines = refused(*options)
    assert status == 2 and said in lines[-1]
