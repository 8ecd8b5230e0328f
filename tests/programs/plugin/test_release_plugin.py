"""The output of scripts/release-plugin: an archive, a Debian package and a manifest for krew, from the release program."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import urllib.parse

import pytest
import yaml

from paths import ROOT

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])
SAID = re.search(r"(?m)^project\(signalbox VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
VERSION = f"{SAID}-rc.1"
TIME = 1700000000
URL = "https://git.example/signalbox/releases/1"
NAMES = {"kubectl-trainjob", "kubectl_complete-trainjob", "LICENSE", "NOTICES", "kubectl-trainjob.spdx.json"}
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


@pytest.fixture
def bill(unpacked):
    return json.loads((unpacked / "kubectl-trainjob.spdx.json").read_text())


def linked(bill, how):
    """Returns the packages of a bill that have this relationship to the program, by name."""
    packages = {each["SPDXID"]: each for each in bill["packages"]}
    return {(package := packages[each["relatedSpdxElement"]])["name"]: package for each in bill["relationships"]
            if each["relationshipType"] == how and each["spdxElementId"] == "SPDXRef-kubectl-trainjob"}


def test_the_bill_of_materials_is_of_the_program_beside_it_and_the_same_in_package_and_release(bill, release, unpacked, package, tmp_path):
    own, = (each for each in bill["packages"] if each["SPDXID"] == "SPDXRef-kubectl-trainjob")
    assert own["checksums"] == [{"algorithm": "SHA256", "checksumValue": hashlib.sha256((unpacked / "kubectl-trainjob").read_bytes()).hexdigest()}]
    assert (own["versionInfo"], bill["creationInfo"]["created"]) == (VERSION, "2023-11-14T22:13:20Z")
    run("dpkg-deb", "-x", package, tmp_path / "package")
    beside, = release.glob("*.spdx.json")
    assert beside.read_text() == (unpacked / "kubectl-trainjob.spdx.json").read_text() == (
        tmp_path / "package/usr/share/doc/kubectl-trainjob/kubectl-trainjob.spdx.json").read_text()


def test_the_bill_of_materials_names_the_source_and_version_of_each_package_as_installed(bill):
    packages = linked(bill, "STATIC_LINK")
    assert packages
    for name, package in packages.items():
        version, source, source_version, arch = run("dpkg-query", "-W", "-f", "${Version} ${source:Package} ${source:Version} ${Architecture}", name).split()
        assert (package["versionInfo"], package["supplier"]) == (version, "Organization: Debian")
        purls = [urllib.parse.unquote(each["referenceLocator"]) for each in package["externalRefs"] if each["referenceType"] == "purl"]
        assert purls == [f"pkg:deb/debian/{name}@{version}?arch={arch}&distro=bookworm",
                         f"pkg:deb/debian/{source}@{source_version}?arch=source&distro=bookworm"]


def test_the_bill_of_materials_names_every_package_that_cmake_finds_and_that_the_program_has_a_trace_of(bill, unpacked):
    text = (unpacked / "kubectl-trainjob").read_bytes()
    # A text that only the code of the package has.
    for trace, package in ((b"appro@openssl.org", "libssl-dev"), (b"yaml-cpp: error at line", "libyaml-cpp-dev"), (b"Invalid RE2: ", "libre2-dev"),
                           (b"basic_string::append", "libstdc++-12-dev"), (b"boost::", "libboost1.81-dev")):
        assert trace in text and package in linked(bill, "STATIC_LINK")
    assert {"libdtl-dev", "rapidjson-dev", "libc6-dev"} <= linked(bill, "STATIC_LINK").keys(), "headers and the code that starts a program"


def test_the_bill_of_materials_names_the_archives_of_the_linker_s_own_list(bill, tmp_path):
    """The linker is asked again, by its trace, which names the files that it takes."""
    command = run("ninja", "-C", BINARIES.parent, "-t", "commands", "-s", "bin/kubectl-trainjob")
    command = command[command.index(": && ") + 5:command.rindex(" && :")]
    command = re.sub(r"-o \S+", f"-o {tmp_path}/program -Wl,--trace", re.sub(r"-Wl,-Map=\S+", "", command))
    took = {str(pathlib.Path(path).resolve()) for path in re.findall(r"(?m)^(?:\()?(/\S+?\.(?:a|o))(?:\)|$)", run("bash", "-c", command, cwd=BINARIES.parent))}
    assert any(path.endswith("libcrypto.a") for path in took)
    owners = {run("dpkg-query", "-S", path).split(":")[0] for path in took}
    assert owners <= linked(bill, "STATIC_LINK").keys()


def test_the_bill_of_materials_names_each_shared_library_without_a_version_because_the_machine_s_is_used(bill, unpacked):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", unpacked / "kubectl-trainjob"))
    # A machine may have the libraries of another architecture beside its own.
    folder = run("gcc", "-print-multiarch").strip()
    owners = {line.split(":")[0] for line in run("dpkg-query", "-S", *(f"*/{folder}/{library}" for library in needed)).splitlines()}
    assert owners == linked(bill, "DYNAMIC_LINK").keys()
    assert not any("versionInfo" in package for package in linked(bill, "DYNAMIC_LINK").values())


def test_every_part_of_the_bill_of_materials_has_what_spdx_2_3_requires(bill):
    """By the required members and the patterns of the specification's JSON schema and text."""
    assert (bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["documentNamespace"])
    assert bill["creationInfo"]["creators"] and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["creationInfo"]["created"])
    known = {"SPDXRef-DOCUMENT", *(each["SPDXID"] for each in bill["packages"])}
    assert len(known) == len(bill["packages"]) + 1
    for package in bill["packages"]:
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]) and package["name"] and package["downloadLocation"] == "NOASSERTION"
        assert package["filesAnalyzed"] is False, "so it needs no verification code"
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known
        assert relation["relationshipType"] in {"DESCRIBES", "STATIC_LINK", "DYNAMIC_LINK"}


def test_a_program_without_the_record_of_its_build_is_not_released(tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("kubectl-trainjob", "kubectl_complete-trainjob"):
        shutil.copy(BINARIES / name, tmp_path / "bin")
    said = make(tmp_path / "out", "--binaries", tmp_path / "bin")
    assert said.returncode == 1 and "has no kubectl-trainjob.map beside it" in said.stderr
    assert not (tmp_path / "out").exists()


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
