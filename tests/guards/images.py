"""Checks that documents, examples and runtimes name only images of tests/data/images.yaml, which says where each comes from. An image that
is not published would leave Pods in ImagePullBackOff. Each has a version, since another one may be published under the same name at any time."""

import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"(?m)^[^#\n]*?\bimage: *[\"']?([a-z0-9][\w./-]*[\w](?:[:@][\w.:-]+)?)[\"']?(?=[\s,}]|$)")
# Names of documents that stand for an image of the reader.
PLACEHOLDER = re.compile(r"registry\.example(\.com)?/|docker\.io/my-")
# What a document shows, without its prose.
SHOWN = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]+`")
PINNED = re.compile(r":(?!latest$)[\w.-]+$|@sha256:[0-9a-f]{64}$")


def text_of(path):
    text = path.read_text()
    return text if path.suffix == ".yaml" else "\n".join(SHOWN.findall(text))


def named():
    """Returns {image: files}."""
    found = {}
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "manifests").rglob("*.yaml")]:
        for image in NAMED.findall(text_of(path)):
            found.setdefault(image, []).append(path.relative_to(ROOT))
    return {image: files for image, files in found.items() if image != "null" and not PLACEHOLDER.match(image)}


def offences():
    known = yaml.safe_load((ROOT / "tests" / "data" / "images.yaml").read_text())
    found = named()
    yield from (f"{files[0]} names {image}: tests/data/images.yaml does not say where it comes from"
                for image, files in sorted(found.items()) if image not in known)
    yield from (f"tests/data/images.yaml has {image}, which nothing names" for image in sorted(known.keys() - found.keys()))
    yield from (f"tests/data/images.yaml has {image}, which names no version" for image in sorted(known) if not PINNED.search(image))
    if len(found) < 8:
        yield "the images were not found"


if __name__ == "__main__":
    found = list(offences())
    print("\n".join(found) or "every image comes from somewhere")
    sys.exit(1 if found else 0)
