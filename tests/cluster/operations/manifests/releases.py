"""A release that the tests of this folder make."""

import hashlib
import subprocess

from schema_server import ROOT

VERSION = "1.2.3-rc.1"
OVERLAYS = sorted(path.name for path in (ROOT / "manifests" / "overlays").iterdir()
                  if path.name not in ("local-processes", "namespaced"))
PROGRAMS = ("webhook", "reconciler")
ARCHITECTURES = ("amd64", "arm64")
CONTACT = "security@git.example"
# Those of the images that the fixture `layouts` stands for, each with an index of both architectures.
DIGESTS = {program: f"sha256:{hashlib.sha256(program.encode()).hexdigest()}" for program in PROGRAMS}


def image_of(program, prefix=""):
    return f"{prefix}signalbox-{program}:{VERSION}@{DIGESTS[program]}"


def make_release(directory, layouts, *options, checkout=ROOT):
    subprocess.run([checkout / "scripts" / "release", VERSION, directory, "--security-contact", CONTACT, "--layouts", layouts, *options],
                   check=True, capture_output=True)
    return directory
