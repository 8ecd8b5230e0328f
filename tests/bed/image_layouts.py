"""What scripts/images has made, as OCI layouts, and a registry that takes it."""

import contextlib
import json
import re
import subprocess
import tarfile

from rest import wait_for
from tools import unpacked


def blob(layout, digest):
    return layout / "blobs" / "sha256" / digest.removeprefix("sha256:")


def manifest_of(images, program):
    """Returns the layout of an image and its manifest, or its index if it is for several architectures."""
    layout = images / f"signalbox-{program}"
    index = json.loads((layout / "index.json").read_text())
    return layout, json.loads(blob(layout, index["manifests"][0]["digest"]).read_text())


def unpack(images, program, root, architecture=None):
    """Unpacks an image, or from an index the one for an architecture. Returns the root."""
    layout, manifest = manifest_of(images, program)
    if architecture:
        one, = (each for each in manifest["manifests"] if each["platform"]["architecture"] == architecture)
        manifest = json.loads(blob(layout, one["digest"]).read_text())
    for layer in manifest["layers"]:
        with tarfile.open(blob(layout, layer["digest"])) as archive:
            archive.extractall(root)
    return root


@contextlib.contextmanager
def running_registry(directory):
    """The address of a registry without TLS, which keeps its files in this directory."""
    settings, log = directory / "registry.yaml", directory / "registry.log"
    settings.write_text(json.dumps({"version": 0.1, "storage": {"filesystem": {"rootdirectory": str(directory / "registry")}},
                                    "http": {"addr": "127.0.0.1:0"}}))
    with open(log, "w", encoding="utf-8") as output, subprocess.Popen(
            [unpacked("docker-registry", "docker-registry"), "serve", settings], stdout=output, stderr=output) as server:
        wait_for("the registry", lambda: re.search(r"listening on (127\.0\.0\.1:\d+)", log.read_text()))
        try:
            yield re.search(r"listening on (127\.0\.0\.1:\d+)", log.read_text())[1]
        finally:
            server.terminate()
