"""Names of the images that scripts/images builds, and the commands that bring them to a cluster."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("webhook", "reconciler")
REGISTRY = re.compile(r"[A-Za-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*/?")


def digest_of(layout, version):
    """Returns the digest of the image of this version in an OCI layout, that of its index if it has several architectures, or None."""
    index = layout / "index.json"
    made = json.loads(index.read_text())["manifests"] if index.is_file() else []
    return next((image["digest"] for image in made if image["annotations"]["org.opencontainers.image.ref.name"] == version), None)


# Both return a kustomization's `images`, which give the Deployments' images these names. `digests` has one for each program.

def images_of_registry(prefix, version, digests):
    """Names images by their digests, which no one can give to another image. Their tag is for readers."""
    return [{"name": f"signalbox-{program}", "newName": f"{prefix}signalbox-{program}", "newTag": version, "digest": digests[program]}
            for program in PROGRAMS]


def images_of_nodes(version, digests):
    """Names images that were loaded onto nodes. Loading gives them another digest, so that the first one becomes a part of the tag: another
    build has another name, and Pods are replaced. No registry has the host `localhost`, so a node without the image says so at once."""
    return [{"name": f"signalbox-{program}", "newName": f"localhost/signalbox-{program}",
             "newTag": f"{version}-{digests[program].partition(':')[2][:12]}"} for program in PROGRAMS]


def reference(image):
    """Returns the name that Deployments get from an entry of `images`."""
    digest = f"@{image['digest']}" if "digest" in image else ""
    return f"{image['newName']}:{image['newTag']}{digest}"


def copy_to_archive(layout, version, archive, image):
    """Returns the command that writes the image to an archive, under the name that Deployments have. Of an index it takes the image for this
    machine, which has the nodes, too."""
    return ["skopeo", "copy", "--quiet", f"oci:{layout}:{version}", f"docker-archive:{archive}:{reference(image)}"]


def load_command(cluster, archive, as_root=True):
    """Returns the command that loads the archive onto the nodes of a cluster, KIND or KIND:NAME. `as_root`: whether the caller is root."""
    kind, _, name = cluster.partition(":")
    sudo = [] if as_root else ["sudo"]
    if kind == "kind":
        return ["kind", "load", "image-archive", str(archive), "--name", name or "kind"]
    if kind == "minikube":
        return ["minikube", "image", "load", str(archive), "--profile", name or "minikube"]
    if cluster == "real":
        return [str(ROOT / "scripts" / "cluster"), "load", str(archive)]
    # The others have one cluster, and load onto this machine.
    runtime = {"k3s": ["k3s", "ctr"], "microk8s": ["microk8s", "ctr"], "containerd": ["ctr", "--namespace", "k8s.io"]}.get(kind)
    if runtime and not name:
        return [*sudo, *runtime, "images", "import", str(archive)]
    raise ValueError(f"{cluster!r} is none of kind[:NAME], minikube[:PROFILE], k3s, microk8s, containerd and real")


def push_command(layout, version, image):
    """Returns the command that copies the image to its registry, for all of its architectures. As for docker, one on this machine needs no
    TLS."""
    host = re.split("[:/]", image["newName"])[0]
    plain = ["--dest-tls-verify=false"] if host in ("localhost", "127.0.0.1") else []
    return ["skopeo", "copy", "--quiet", "--all", "--preserve-digests", *plain, f"oci:{layout}:{version}", f"docker://{image['newName']}:{image['newTag']}"]
