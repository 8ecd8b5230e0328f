"""The output of scripts/release-plugin: an archive, a Debian package and a manifest for krew, from the release program."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest
import yaml

from paths import ROOT

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
SAID = re.search(r"(?m)^project\(signalbox VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
VERSION = f"{SAID}-rc.1"
TIME = 1700000000
URL = "https://git.example/signalbox/releases/1"
NAMES = {"kubectl-trainjob", "kubectl_complete-trainjob", "LICENSE", "NOTICES"}
# Nothing else of this machine: no libraries elsewhere, no kubectl.
BARE = {"PATH": "/usr/bin:/bin"}


def make(directory, *options, version=VERSION, umask=-1):
    return subprocess.run([ROOT / "scripts" / "release-plugin", version, directory, "--binaries", BINARIES, *options], capture_output=True, text=True,
                          check=False, umask=umask, env={**os.environ, "SOURCE_DATE_EPOCH": str(TIME)})


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    directory = tmp_path_factory.mktemp("release")
    made = make(directory, "--url", f"{URL}/")
    assert made.returncode == 0, made.stderr
    return directory


@pytest.fixture(scope="module")
def archive(release):
    (found,) = release.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def package(release):
    (found,) = release.glob("*.deb")
    return found


@pytest.fixture
def unpacked(archive, tmp_path):
    with tarfile.open(archive) as files:
        files.extractall(tmp_path)
    return tmp_path


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def works(program):
    """Whether the program runs without anything beside it, and does its work."""
    job = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: job}, spec: {runtimeRef: {name: plain}}}"
    said = run(program, "check", "-f", "-", "-f", ROOT / "manifests" / "runtimes" / "plain.yaml", input=job, env=BARE)
    return "TrainJob default/job is allowed" in said and run(program, "--version", env=BARE) == f"kubectl trainjob {SAID}\n"


def test_the_program_of_the_archive_runs(unpacked):
    assert works(unpacked / "kubectl-trainjob")


def test_kubectl_completes_with_the_folder_of_the_archive_on_the_path(unpacked):
    said = run(unpacked / "kubectl_complete-trainjob", "check", "-f", "", env={"PATH": f"{unpacked}:/usr/bin:/bin"})
    assert said == ":0\n"


def test_the_program_needs_the_c_library_of_the_machine_and_no_other(unpacked):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", unpacked / "kubectl-trainjob"))
    assert set(needed) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def test_the_program_is_small(unpacked):
    assert (unpacked / "kubectl-trainjob").stat().st_size <= 12_000_000


def test_the_files_of_the_archive_belong_to_root(archive):
    with tarfile.open(archive) as files:
        members = {member.name: member for member in files.getmembers()}
    assert members.keys() == NAMES
    assert {(member.uid, member.gid, member.mtime) for member in members.values()} == {(0, 0, TIME)}
    assert {name for name, member in members.items() if member.mode == 0o755} == {"kubectl-trainjob", "kubectl_complete-trainjob"}


def test_the_archive_has_the_licences_of_all_code_in_it(unpacked):
    assert (unpacked / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    texts = (unpacked / "NOTICES").read_text()
    for owner in ("Google Inc.", "Jesse Beder", "Milo Yip", "Tatsuhiko Kubo", "OpenSSL"):
        assert owner in texts


def test_the_program_of_the_package_runs_in_a_root_of_its_own(package, tmp_path):
    run("dpkg-deb", "-x", package, tmp_path)
    assert works(tmp_path / "usr/bin/kubectl-trainjob")
    assert os.access(tmp_path / "usr/bin/kubectl_complete-trainjob", os.X_OK)
    assert "Jesse Beder" in (tmp_path / "usr/share/doc/kubectl-trainjob/copyright").read_text()


def test_the_package_says_what_it_is_and_what_it_needs(package):
    fields = dict(re.findall(r"(?m)^([A-Z]\S*): (.*)$", run("dpkg-deb", "-f", package)))
    assert (fields["Package"], fields["Version"]) == ("kubectl-trainjob", f"{SAID}~rc.1")
    assert fields["Architecture"] == run("dpkg", "--print-architecture").strip()
    assert package.name == f"kubectl-trainjob_{SAID}~rc.1_{fields['Architecture']}.deb"
    needed = re.fullmatch(r"libc6 \(>= ([\d.]+)\)", fields["Depends"])[1]
    here = run("dpkg-query", "-W", "-f", "${Version}", "libc6")
    assert subprocess.run(["dpkg", "--compare-versions", here, "ge", needed], check=False).returncode == 0, "it runs here, so this suffices"


def test_a_release_replaces_the_package_of_its_pre_release(package):
    before = run("dpkg-deb", "-f", package, "Version").strip()
    assert subprocess.run(["dpkg", "--compare-versions", before, "lt", SAID], check=False).returncode == 0


def test_the_files_of_the_package_belong_to_root_and_have_their_checksums(package, tmp_path):
    rows = [line.split() for line in run("dpkg-deb", "-c", package).splitlines()]
    assert {row[1] for row in rows} == {"root/root"}
    assert {row[5]: row[0] for row in rows}["./usr/bin/kubectl-trainjob"] == "-rwxr-xr-x"
    run("dpkg-deb", "-R", package, tmp_path)
    assert run("md5sum", "-c", "--quiet", "DEBIAN/md5sums", cwd=tmp_path) == ""
    assert {line.split()[1] for line in (tmp_path / "DEBIAN/md5sums").read_text().splitlines()} == {
        str(path.relative_to(tmp_path)) for path in (tmp_path / "usr").rglob("*") if path.is_file()}


def test_krew_can_read_the_manifest(release, archive):
    """By the rules of krew's internal/index/validation/validate.go."""
    manifest = yaml.safe_load((release / "trainjob.yaml").read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert manifest["metadata"] == {"name": "trainjob"}, "as its file"
    spec = manifest["spec"]
    assert spec.keys() == {"version", "shortDescription", "description", "caveats", "platforms"}
    assert spec["version"] == f"v{VERSION}"
    assert spec["shortDescription"] and "\n" not in spec["shortDescription"]
    (platform,) = spec["platforms"]
    arch = run("dpkg", "--print-architecture").strip()
    assert platform["selector"] == {"matchLabels": {"os": "linux", "arch": arch}}
    assert platform["uri"] == f"{URL}/{archive.name}"
    assert {file["from"] for file in platform["files"]} == NAMES and {file["to"] for file in platform["files"]} == {"."}
    assert platform["bin"] == "kubectl-trainjob"


def test_the_checksum_of_the_manifest_is_that_of_the_archive(release, archive):
    manifest = yaml.safe_load((release / "trainjob.yaml").read_text())
    assert manifest["spec"]["platforms"][0]["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_a_changed_file_does_not_have_its_checksum(release, tmp_path):
    copy = shutil.copytree(release, tmp_path / "copy")

    def check():
        return subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=copy, capture_output=True, text=True, check=False)
    assert {line.split()[1] for line in (copy / "SHA256SUMS").read_text().splitlines()} == {path.name for path in copy.iterdir()} - {"SHA256SUMS"}
    assert check().returncode == 0
    with open(copy / "trainjob.yaml", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert "trainjob.yaml: FAILED" in check().stdout


def test_a_second_release_has_the_same_bytes_whatever_the_user_s_mask(release, tmp_path):
    assert make(tmp_path, "--url", URL, umask=0o077).returncode == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {path.name: path.read_bytes() for path in release.iterdir()}


def test_without_an_address_the_manifest_names_the_file_for_krew_s_option_archive(archive, tmp_path):
    assert make(tmp_path, "--homepage", "https://git.example/signalbox").returncode == 0
    spec = yaml.safe_load((tmp_path / "trainjob.yaml").read_text())["spec"]
    assert spec["platforms"][0]["uri"] == archive.name
    assert spec["homepage"] == "https://git.example/signalbox"


@pytest.mark.parametrize("version, options, words", [
    ("99.0.0", [], f"kubectl-trainjob says that it is {SAID}, not 99.0.0"),
    ("next", [], "VERSION: 'next' is no semantic version"),
    (VERSION, ["--url", "http://git.example"], "--url: 'http://git.example' is no address such as https://"),
])
def test_what_cannot_be_released_is_named_and_nothing_is_written(tmp_path, version, options, words):
    said = make(tmp_path / "out", *options, version=version)
    assert said.returncode != 0 and words in said.stderr
    assert not (tmp_path / "out").exists()
