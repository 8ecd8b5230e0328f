"""What the scripts that make files of a release share: versions, archives and checksums."""

import gzip
import hashlib
import io
import re
import subprocess
import tarfile

SEMANTIC_VERSION = r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?"
CHECKSUMS = "SHA256SUMS"
# What the files of a release are made from: manifests, chart, programs.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "apps", "cmake", "libs", "manifests", "scripts")


def require_version(parser, version):
    """Ends the program of this parser if that is no version of a release."""
    if not re.fullmatch(SEMANTIC_VERSION, version):
        parser.error(f"VERSION: {version!r} is no semantic version such as 1.2.3 or 1.2.3-rc.1")


def require_printed_version(program, wanted=None):
    """Returns the wanted version, by default the one that the program prints. Fails unless it is that one, or a pre-release of it."""
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    if wanted and wanted != said and not wanted.startswith(f"{said}-"):
        raise SystemExit(f"{program.name} says that it is {said}, not {wanted}: CMakeLists.txt has the version")
    return wanted or said


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
