"""Kustomizations that are made from the overlays of manifests/."""

import json
import os
import pathlib

import yaml

MANIFESTS = pathlib.Path(__file__).resolve().parents[2] / "manifests"


def with_progress(overlay, directory):
    """Writes the overlay with component progress, behind the one for certificates, so that the others change its objects as well.
    Returns its folder, below `directory`. Limits to namespaces are not included."""
    made = pathlib.Path(directory) / f"{overlay.name}-with-progress"
    made.mkdir()
    kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text())
    certificates, *others = [(overlay / each).resolve() for each in kustomization["components"]]
    progress = [MANIFESTS / "components" / "progress"]
    if certificates.name == "cert-manager":
        progress.append(MANIFESTS / "components" / "progress-cert-manager")
    wanted = [certificates, *progress, *(each for each in others if each not in progress)]
    kustomization["components"] = [os.path.relpath(each, made) for each in wanted]
    kustomization["resources"] = [os.path.relpath((overlay / each).resolve(), made) for each in kustomization["resources"]]
    (made / "kustomization.yaml").write_text(json.dumps(kustomization))
    return made


def with_secure_metrics(overlay, directory):
    """Writes the overlay with component secure-metrics, and prometheus-secure in place of prometheus. Returns its folder, below
    `directory`."""
    made = pathlib.Path(directory) / f"{overlay.name}-with-secure-metrics"
    made.mkdir()
    kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text())
    before = [(overlay / each).resolve() for each in kustomization["components"]]
    wanted = [MANIFESTS / "components" / "prometheus-secure" if each.name == "prometheus" else each for each in before]
    added = MANIFESTS / "components" / "secure-metrics"
    kustomization["components"] = [os.path.relpath(each, made) for each in (wanted if added in wanted else [*wanted, added])]
    kustomization["resources"] = [os.path.relpath((overlay / each).resolve(), made) for each in kustomization["resources"]]
    (made / "kustomization.yaml").write_text(json.dumps(kustomization))
    return made


def with_images(folder, images, directory):
    """Writes the kustomization `folder` with these `images` into the directory. Returns the directory."""
    made = pathlib.Path(directory)
    made.mkdir(parents=True, exist_ok=True)
    kustomization = {"resources": [os.path.relpath(folder, made.resolve())], "images": images}
    (made / "kustomization.yaml").write_text(yaml.safe_dump(kustomization, sort_keys=False))
    return made
