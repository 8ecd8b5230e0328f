"""The container images: their files, their reproducibility, their way to a registry, and their programs, which run as in Pods: as user 65532,
with a read-only root."""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import urllib.request

import pytest
import yaml

from architectures import THIS
from controlplane import ControlPlane
from deployment import ROOT, Signalbox
from image_layouts import blob, manifest_of, running_registry, unpack
from jobs import runtime, train_job
from rest import ApiError, Rest, true_conditions, wait_for

pytestmark = pytest.mark.long
PROGRAMS = ("webhook", "reconciler")
SAID = re.search(r"(?m)^project\(signalbox VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]  # printed by the programs
VERSION = f"{SAID}-rc.1"
USER = "65532:65532"
RUN = """#!/bin/sh
# {program}, in the image's root, where `shared` stands for the volumes of a Pod.
chmod -R a+rX {shared}
exec unshare {namespaces} sh -c 'mount --bind {root} {root} && mount --bind {shared} {root}{shared} && mount -o remount,ro,bind {root} &&
  exec chroot {user} {root} /{program} "$@"' {program} "$@"
"""


def make_images(directory, *options, umask=0o022):
    return subprocess.run([ROOT / "scripts" / "images", directory, "--version", VERSION, *options], check=True, capture_output=True,
                          text=True, umask=umask).stdout


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    directory = tmp_path_factory.mktemp("images")
    make_images(directory)
    return directory


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_runs_its_program_and_not_as_root(images, program):
    layout, manifest = manifest_of(images, program)
    config = json.loads(blob(layout, manifest["config"]["digest"]).read_text())["config"]
    assert (config["User"], config["Entrypoint"]) == (USER, [f"/signalbox-{program}"])
    assert config["Labels"]["org.opencontainers.image.version"] == VERSION


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_of_an_image_says_its_version(images, program):
    run = subprocess.run([images / THIS / program / f"signalbox-{program}", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"signalbox-{program} {SAID}\n"


@pytest.mark.parametrize("webhook, reconciler, version", [("1.2.3", "1.2.3", "1.2.4"), ("1.2.3", "1.2.3", "1.2.30"),
                                                          ("1.2.3", "1.2.4", "1.2.3"), ("1.2.3", "1.2.4", "")])
def test_an_image_version_that_its_programs_do_not_print_is_rejected(tmp_path, webhook, reconciler, version):
    for program, said in zip(PROGRAMS, (webhook, reconciler)):
        (tmp_path / f"signalbox-{program}").write_text(f"#!/bin/sh\necho signalbox-{program} {said}\n")
        (tmp_path / f"signalbox-{program}").chmod(0o755)
    options = ["--binaries", tmp_path] + (["--version", version] if version else [])
    run = subprocess.run([ROOT / "scripts" / "images", tmp_path / "out", *options], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and run.stderr.startswith("signalbox-") and "CMakeLists.txt" in run.stderr
    assert list((tmp_path / "out").glob("*")) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_holds_its_program_with_its_libraries_and_no_shell(images, tmp_path, program):
    root = unpack(images, program, tmp_path)
    files = [path for path in root.rglob("*") if path.is_file()]
    others = [path.name for path in files if not re.search(r"\.so[.\d]*$", path.name)]
    assert others == [f"signalbox-{program}"]
    assert not [path for path in files if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_bill_of_materials_names_the_package_of_every_file(images, tmp_path, program):
    bill = json.loads((images / THIS / f"{program}.spdx.json").read_text())
    packages = {each["name"]: each["versionInfo"] for each in bill["packages"]}
    for name, version in packages.items():
        if name != f"signalbox-{program}":
            asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True)
            assert asked.stdout == version
    dynamic = {each["relatedSpdxElement"].removeprefix("SPDXRef-deb-") for each in bill["relationships"]
               if each["relationshipType"] == "DYNAMIC_LINK"}
    of = {"libc": "libc6", "libm": "libc6", "ld-linux-x86-64": "libc6", "ld-linux-aarch64": "libc6", "libgcc_s": "libgcc-s1", "libstdc++": "libstdc--6",
          "libprometheus-cpp-core": "libprometheus-cpp-core1.0"}
    libraries = {path.name.partition(".so")[0] for path in unpack(images, program, tmp_path).rglob("*.so*")}
    assert {of[name] for name in libraries} == dynamic
    assert {"libssl-dev", "libyaml-cpp-dev"} <= packages.keys()


def test_the_same_binaries_make_the_same_images_under_another_umask(images, tmp_path):
    make_images(tmp_path, umask=0o077)
    for program in PROGRAMS:
        assert manifest_of(images, program)[1] == manifest_of(tmp_path, program)[1]


@pytest.fixture
def registry(tmp_path):
    with running_registry(tmp_path) as address:
        yield address


def test_a_registry_has_the_images_under_the_digests_that_the_overlays_name(images, registry, tmp_path):
    make_images(tmp_path, "--push", f"{registry}/team")
    overlay = yaml.safe_load((tmp_path / "overlays" / "self-signed" / "kustomization.yaml").read_text())
    for program, image in zip(PROGRAMS, overlay["images"]):
        assert image["newName"] == f"{registry}/team/signalbox-{program}"
        asked = urllib.request.Request(f"http://{registry}/v2/team/signalbox-{program}/manifests/{image['digest']}",
                                       headers={"Accept": "application/vnd.oci.image.manifest.v1+json"})
        with urllib.request.urlopen(asked) as answer:
            assert json.load(answer) == manifest_of(images, program)[1]


@pytest.fixture(scope="module")
def plane():
    with ControlPlane() as control_plane:
        yield control_plane


def runnable(plane, images, directory):
    """Makes a folder of programs that run from the images' roots."""
    namespaces, user = ("--mount", f"--userspec={USER}") if os.geteuid() == 0 else ("--map-root-user --mount", "")
    shared = pathlib.Path(plane.directory)
    for program in PROGRAMS:
        root = unpack(images, program, directory / f"{program}-root")
        (root / shared.relative_to("/")).mkdir(parents=True)
        script = directory / f"signalbox-{program}"
        script.write_text(RUN.format(program=f"signalbox-{program}", root=root, shared=shared, namespaces=namespaces, user=user))
        script.chmod(0o755)
    return directory


def test_both_programs_work_from_their_images(plane, images, tmp_path):
    with Signalbox(plane, runnable(plane, images, tmp_path)) as signalbox:
        rest = Rest(plane.kubeconfig)
        rest.create(runtime())
        with pytest.raises(ApiError, match="missing-runtime"):
            rest.create(train_job("refused", "missing-runtime"))
        rest.create(train_job("from-images"))
        wait_for("its end", lambda: "Complete" in true_conditions(rest.get("trainjobs", "from-images")), timeout=60)
        for program in (signalbox.webhook, signalbox.reconciler):
            status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
            if os.geteuid() == 0:
                assert re.search(r"Uid:\s+65532\s+65532\s+65532\s+65532", status)
                assert re.search(r"CapEff:\s+0{16}", status)
            root = pathlib.Path(f"/proc/{program.pid}/root")
            with pytest.raises(OSError, match="Read-only"):
                (root / "new").touch()
    shutil.rmtree(tmp_path, ignore_errors=True)
