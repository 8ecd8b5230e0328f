#!/usr/bin/env python3
"""Unpacks packages of Debian 12 of another architecture, and all that they need, into a folder to build against.

  scripts/lib/sysroot.py FOLDER ARCHITECTURE PACKAGE...

This machine's packages are not touched, and nothing runs of those that are unpacked. FOLDER/packages names each of them, followed by its
files, as bill_of_materials.py reads it. A folder that was made from the same list stays as it is.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from bill_of_materials import PACKAGE_FIELDS

# apt as if it ran on a machine of that architecture which has nothing yet. The machine's own archives and settings,
# such as a proxy, stay.
SETTINGS = """\
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "";
Dir::State "{place}";
Dir::State::status "{place}/status";
Dir::Cache "{place}";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
"""


def main():
    if len(sys.argv) < 4 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__.strip())
    folder, architecture, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sorted(sys.argv[3:])
    made_from = folder / "made-from"
    asked = f"{architecture} {' '.join(wanted)}\n"
    if made_from.is_file() and made_from.read_text() == asked:
        return
    print(f"setup: unpacking the libraries of {architecture} into {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        names = [unpack(package, folder) for package in download(pathlib.Path(place), architecture, wanted)]
    make_links_relative(folder)
    (folder / "packages").write_text("".join(names))
    made_from.write_text(asked)


def download(place, architecture, wanted):
    """Returns the packages' files below `place`, in order."""
    for needed in ("lists/partial", "archives/partial"):
        (place / needed).mkdir(parents=True)
    (place / "status").touch()
    (place / "apt.conf").write_text(SETTINGS.format(architecture=architecture, place=place))
    for command in (["update"], ["install", "--download-only", "--yes", "--no-install-recommends", *wanted]):
        ran = subprocess.run(["apt-get", "-qq", *command], env={**os.environ, "APT_CONFIG": str(place / "apt.conf")}, capture_output=True, text=True,
                             check=False)
        if ran.returncode:
            raise SystemExit(f"apt-get {' '.join(command)} for {architecture}:\n{ran.stdout}{ran.stderr}".rstrip())
    return sorted((place / "archives").glob("*.deb"))


def unpack(package, folder):
    """Returns the lines of the package in FOLDER/packages."""
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    paths = subprocess.run(["tar", "--list"], input=archive, check=True, capture_output=True).stdout.decode().splitlines()
    shown = subprocess.run(["dpkg-deb", "--show", f"--showformat={PACKAGE_FIELDS}\n", package], check=True, capture_output=True, text=True).stdout
    return shown + "".join(f" {path.removeprefix('.')}\n" for path in paths if not path.endswith("/"))


def make_links_relative(folder):
    """A link to /lib would lead out of the folder, to this machine's libraries."""
    for path in folder.rglob("*"):
        if path.is_symlink() and (target := path.readlink()).is_absolute():
            path.unlink()
            path.symlink_to(os.path.relpath(folder / target.relative_to("/"), path.parent))


if __name__ == "__main__":
    main()
