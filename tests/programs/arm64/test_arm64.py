"""What is shipped for arm64, as the preset release-arm64 builds it on another machine: unit tests of the pure libraries and the programs run in
an emulator, and images and plugin have both architectures."""

import json
import os
import pathlib
import re
import subprocess
import tarfile
import urllib.request

import pytest
import yaml

from architectures import EMULATORS, THIS, architecture_of, runnable, sysroot_of
from image_layouts import blob, manifest_of, running_registry, unpack
from images import PROGRAMS, copy_to_archive
from paths import ROOT, shipped

pytestmark = [pytest.mark.long, pytest.mark.skipif(THIS == "arm64", reason="a machine of arm64 builds for itself alone")]
BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]).resolve()
VERSION = re.search(r"(?m)^project\(signalbox VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
BOTH = ("amd64", "arm64")
MANIFESTS = ["-f", "manifests/examples", "-f", "manifests/runtimes"]
INDEX = "application/vnd.oci.image.index.v1+json"


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("library", ["api", "merge", "lifecycle", "runtime", "admission"])
def test_the_unit_tests_of_a_pure_library_pass(library):
    ran = subprocess.run(runnable(BINARIES / f"{library}_tests"), cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-10000:] + ran.stderr[-2000:]
    assert re.search(r"All tests passed \(\d+ assertions in \d+ test cases\)", ran.stdout)


@pytest.mark.parametrize("program, said", [*((f"signalbox-{program}", f"signalbox-{program}") for program in PROGRAMS),
                                           ("kubectl-trainjob", "kubectl trainjob")])
def test_a_program_is_of_arm64_and_says_its_version(program, said):
    assert architecture_of(BINARIES / program) == "arm64"
    assert run(*runnable(BINARIES / program), "--version") == f"{said} {VERSION}\n"


@pytest.mark.parametrize("words", [["--help"], ["check", *MANIFESTS], ["render", *MANIFESTS], ["render", "-o", "json", *MANIFESTS]],
                         ids=["help", "check", "render", "render as JSON"])
def test_the_plugin_prints_what_that_of_this_machine_prints(words):
    said = run(*runnable(BINARIES / "kubectl-trainjob"), *words)
    assert said == run(shipped("kubectl-trainjob"), *words) != ""


def make_images(directory, *options):
    run(ROOT / "scripts" / "images", directory, "--arch", "amd64,arm64", *options)
    return directory


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("images"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_is_an_index_with_an_image_for_each_architecture(images, program):
    layout, index = manifest_of(images, program)
    assert index["mediaType"] == INDEX
    assert [(each["platform"]["os"], each["platform"]["architecture"]) for each in index["manifests"]] == [("linux", each) for each in BOTH]
    for each in index["manifests"]:
        manifest = json.loads(blob(layout, each["digest"]).read_text())
        config = json.loads(blob(layout, manifest["config"]["digest"]).read_text())
        assert (config["os"], config["architecture"]) == ("linux", each["platform"]["architecture"])
        assert (config["config"]["User"], config["config"]["Entrypoint"]) == ("65532:65532", [f"/signalbox-{program}"])


@pytest.mark.parametrize("architecture", BOTH)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_file_of_an_image_is_of_its_architecture(images, tmp_path, program, architecture):
    files = [path for path in unpack(images, program, tmp_path, architecture).rglob("*") if path.is_file()]
    assert [path.name for path in files if not re.search(r"\.so[.\d]*$", path.name)] == [f"signalbox-{program}"]
    assert len(files) > 1
    for path in files:
        assert path.read_bytes().startswith(b"\x7fELF") and architecture_of(path) == architecture, path


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_with_the_libraries_of_its_image_alone(images, tmp_path, program):
    root = unpack(images, program, tmp_path, "arm64")
    assert run(EMULATORS["arm64"], "-L", root, root / f"signalbox-{program}", "--version") == f"signalbox-{program} {VERSION}\n"


def linked(bill):
    """Returns {(relationship, package): its bill's entry}."""
    packages = {each["SPDXID"]: each for each in bill["packages"]}
    return {(each["relationshipType"], packages[each["relatedSpdxElement"]]["name"]): packages[each["relatedSpdxElement"]]
            for each in bill["relationships"] if each["relationshipType"] != "DESCRIBES"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_bill_of_materials_names_the_packages_of_arm64_and_the_same_as_that_of_this_machine(images, program):
    ours, theirs = (linked(json.loads((images / architecture / f"{program}.spdx.json").read_text())) for architecture in BOTH)
    assert theirs.keys() == ours.keys()
    unpacked = {tuple(line.split()[:3]) for line in (sysroot_of(BINARIES / "kubectl-trainjob") / "packages").read_text().splitlines() if line[0] != " "}
    for (_, name), package in theirs.items():
        architecture, = re.findall(r"\?arch=(arm64|all)&", " ".join(each["referenceLocator"] for each in package["externalRefs"]))
        assert (name, package["versionInfo"], architecture) in unpacked


def test_the_same_binaries_make_the_same_indexes(images, tmp_path):
    make_images(tmp_path)
    for program in PROGRAMS:
        assert (tmp_path / f"signalbox-{program}" / "index.json").read_text() == (images / f"signalbox-{program}" / "index.json").read_text()


def test_a_registry_has_the_indexes_that_the_overlays_name_and_the_images_in_them(images, tmp_path):
    with running_registry(tmp_path) as registry:
        make_images(tmp_path, "--push", registry)
        overlay = yaml.safe_load((tmp_path / "overlays" / "self-signed" / "kustomization.yaml").read_text())
        for program, image in zip(PROGRAMS, overlay["images"]):
            asked = urllib.request.Request(f"http://{registry}/v2/signalbox-{program}/manifests/{image['digest']}", headers={"Accept": INDEX})
            with urllib.request.urlopen(asked) as answer:
                assert json.load(answer) == manifest_of(images, program)[1]
            for architecture in BOTH:
                said = run("skopeo", "inspect", "--config", "--tls-verify=false", f"--override-arch={architecture}",
                           f"docker://{image['newName']}@{image['digest']}")
                assert json.loads(said)["architecture"] == architecture


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_loaded_onto_nodes_is_the_image_for_this_machine(images, tmp_path, program):
    run(*copy_to_archive(images / f"signalbox-{program}", VERSION, tmp_path / "image.tar", {"newName": f"localhost/{program}", "newTag": "1"}))
    with tarfile.open(tmp_path / "image.tar") as archive:
        manifest, = json.load(archive.extractfile("manifest.json"))
        assert json.load(archive.extractfile(manifest["Config"]))["architecture"] == THIS


def test_krew_and_debian_get_the_plugin_of_both_architectures(tmp_path):
    run(ROOT / "scripts" / "release-plugin", VERSION, tmp_path / "release", "--arch", "amd64,arm64")
    platforms = yaml.safe_load((tmp_path / "release" / "trainjob.yaml").read_text())["spec"]["platforms"]
    assert [each["selector"]["matchLabels"] for each in platforms] == [{"os": "linux", "arch": each} for each in BOTH]
    for architecture, platform in zip(BOTH, platforms):
        with tarfile.open(tmp_path / "release" / platform["uri"]) as archive:
            archive.extractall(tmp_path / architecture)
        assert architecture_of(tmp_path / architecture / "kubectl-trainjob") == architecture
        package = tmp_path / "release" / f"kubectl-trainjob_{VERSION}_{architecture}.deb"
        assert run("dpkg-deb", "-f", package, "Architecture") == f"{architecture}\n"
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", tmp_path / "arm64" / "kubectl-trainjob"))
    assert set(needed) <= {"libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1"}
    said = run(EMULATORS["arm64"], "-L", sysroot_of(BINARIES / "kubectl-trainjob"), tmp_path / "arm64" / "kubectl-trainjob", "check", *MANIFESTS)
    assert "is allowed" in said
