"""What the scripts that make files of a release share: versions, programs, archives and checksums."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile

from architectures import TRIPLETS, architecture_of, preset_of, runnable, tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEMANTIC_VERSION = r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?"
CHECKSUMS = "SHA256SUMS"
# What the files of a release are made from: manifests, chart, programs, and the texts beside them.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "SECURITY.md", "apps", "cmake", "libs", "manifests", "scripts")


def require_version(parser, version):
    """Ends the program of this parser if that is no version of a release."""
    if not re.fullmatch(SEMANTIC_VERSION, version):
        parser.error(f"VERSION: {version!r} is no semantic version such as 1.2.3 or 1.2.3-rc.1")


def require_architectures(parser, named):
    """Returns the architectures of an option such as "amd64,arm64", in order. Ends the program of this parser if one cannot be built here."""
    architectures = sorted(set(named.split(",")))
    presets = [preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]]
    for architecture in architectures:
        if architecture not in TRIPLETS or preset_of(architecture) not in presets:
            parser.error(f"--arch: {architecture!r} is none of {', '.join(each for each in TRIPLETS if preset_of(each) in presets)}")
    return architectures


def require_printed_version(program, wanted=None):
    """Returns the wanted version, by default the one that the program prints. Fails unless it is that one, or a pre-release of it."""
    said = subprocess.run([*runnable(program), "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    if wanted and wanted != said and not wanted.startswith(f"{said}-"):
        raise SystemExit(f"{program.name} says that it is {said}, not {wanted}: CMakeLists.txt has the version")
    return wanted or said


def release_binaries(architecture, *targets):
    """Builds these programs by the release preset of an architecture. Returns their folder."""
    preset = preset_of(architecture)
    subprocess.run(["bash", "-c", f"source scripts/lib/environment.sh && cmake --preset {preset} && "
                    f"cmake --build --preset {preset} --target {' '.join(targets)}"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return ROOT / "build" / preset / "bin"


def source_time():
    """Returns $SOURCE_DATE_EPOCH, or the time of the commit, or without git the beginning of 1970."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    said = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return int(said or 0)


def stripped(program):
    """Returns the bytes of a program without its symbols, as it is shipped."""
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([tool("strip", architecture_of(program)), "-o", f"{made}/program", program], check=True)
        return pathlib.Path(f"{made}/program").read_bytes()


def packed(files, time=0):
    """Returns a tar.gz of {path: (content, mode)}, owned by root and in the order of the paths: the same files give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(str(path))
            entry.size, entry.mode, entry.mtime = len(content), mode, time
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=0)


def checksums(directory):
    """Returns a line for each other file, as sha256sum reads them."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                   for path in sorted(directory.iterdir()) if path.is_file() and path.name != CHECKSUMS)
