"""JobSet as it is released: the manifests that its installation page names, made from its module."""

import json
import os
import pathlib

from controlplane.binaries import JOBSET_MODULE, go

from .images import JOBSET, version_of_jobset


def write_manifests(directory):
    """Writes a kustomization of what `releases/download/VERSION/manifests.yaml` has. Returns its folder."""
    module = json.loads(go("mod", "download", "-json", f"sigs.k8s.io/jobset@{version_of_jobset()}", module=JOBSET_MODULE))["Dir"]
    folder = pathlib.Path(directory) / "jobset"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(json.dumps({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [os.path.relpath(pathlib.Path(module) / "config" / "default", folder.resolve())],
        # The module names the image of before the release.
        "images": [{"name": "us-central1-docker.pkg.dev/k8s-staging-images/jobset/jobset", "newName": JOBSET, "newTag": version_of_jobset()}]}))
    return folder
