"""A release of what the nodes have: its chart, and the command of docs/install.md that installs all of it."""

import json
import os
import pathlib
import re
import subprocess

import yaml

from images import reference
from paths import ROOT

from .jobset import write_manifests


def jobset_manifests(directory, kubectl):
    """Writes what JobSet's release has as manifests.yaml. Returns the file."""
    file = pathlib.Path(directory) / "jobset.yaml"
    file.write_text(subprocess.run([kubectl, "kustomize", write_manifests(directory)], check=True, capture_output=True, text=True).stdout)
    return file


def chart_for_nodes(directory, images, kubectl):
    """Makes a release of the images in this folder of scripts/images. Returns its chart."""
    index = json.loads((images / "signalbox-webhook" / "index.json").read_text())
    version = index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
    subprocess.run([ROOT / "scripts" / "release", version, directory / "out", "--security-contact", "security@git.example", "--layouts", images,
                    "--jobset", jobset_manifests(directory, kubectl)],
                   check=True, capture_output=True, env={**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"})
    return directory / "out" / f"signalbox-{version}.tgz"


def one_command(chart, images):
    """Returns the arguments of helm in docs/install.md that install everything, and what names the images that were loaded."""
    command, = re.findall(r"(?m)^helm (install signalbox \S+ --wait --set jobset\.install=true.*?)(?: +#.*)?$", (ROOT / "docs" / "install.md").read_text())
    made = yaml.safe_load((images / "overlays" / "progress" / "kustomization.yaml").read_text())["images"]
    webhook, reconciler = (reference(image) for name in ("webhook", "reconciler") for image in made if image["name"] == f"signalbox-{name}")
    values = {"overlay": "progress", "webhook.image": webhook, "progress.image": webhook, "reconciler.image": reconciler}
    return [*command.replace("signalbox-VERSION.tgz", str(chart)).split(), *(word for name, value in values.items() for word in ("--set", f"{name}={value}"))]
