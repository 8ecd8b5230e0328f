"""The golden cases of tests/data/build and tests/data/admission, and their differences from Kubeflow Trainer.
The README.md of each folder describes the files."""

import fractions
import json
import pathlib
import re

import yaml

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
KINDS = ("build", "admission")
ANYTHING = ("<random>", "<script>")
# Members whose values compare as quantities: 0.5 is 500m.
QUANTITIES = ("limits", "requests", "minResources", "overhead", "sizeLimit", "divisor")
SUFFIXES = {"": 1, **{s: fractions.Fraction(10) ** (3 * n) for n, s in enumerate("num", -3)},
            **{s: 1000 ** n for n, s in enumerate("kMGTPE", 1)}, **{s + "i": 1024 ** n for n, s in enumerate("KMGTPE", 1)}}
SET_BY_SERVERS = ("resourceVersion", "generation", "uid", "creationTimestamp", "managedFields")


def cases(kind, data=DATA):
    return sorted(path for path in (data / kind).iterdir() if path.is_dir())


def load(file):
    return json.loads(file.read_text()) if file.exists() else None


def quantity(value):
    match = re.fullmatch(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)([numkMGTPEi]{0,2})", str(value))
    return str(fractions.Fraction(match[1]) * SUFFIXES[match[2]]) if match else value


def comparable(tree, of_quantities=False, key=""):
    """Returns the tree without empty values (except an emptyDir), from the inside out, and with quantities by their value."""
    if isinstance(tree, dict):
        clean = {name: comparable(value, key in QUANTITIES, name) for name, value in tree.items() if not name.endswith("/applied-hash")}
        return {name: value for name, value in clean.items() if value not in (None, "", [], {}) or name == "emptyDir"}
    if isinstance(tree, list):
        return [comparable(item) for item in tree]
    return quantity(tree) if tree is not None and (of_quantities or key in QUANTITIES) else tree


def comparable_object(thing):
    kind = thing["kind"]
    if kind in ("ConfigMap", "Secret"):
        thing = {key: value for key, value in thing.items() if key != "immutable"}
    thing = comparable(thing)
    if kind == "ConfigMap" and thing["metadata"]["name"].endswith("-runtime-snapshot"):
        stored = yaml.safe_load(thing["data"]["runtime"])
        stored["metadata"] = {key: value for key, value in stored["metadata"].items() if key not in SET_BY_SERVERS}
        thing["data"]["runtime"] = comparable(stored)
    return thing


def comparable_objects(things):
    return {" ".join((thing["kind"], thing["metadata"]["name"], thing["apiVersion"])): comparable_object(thing) for thing in things}


def comparable_status(status):
    conditions = [{key: value for key, value in condition.items() if key not in ("observedGeneration", "lastTransitionTime")}
                  for condition in status.get("conditions", []) if condition["type"] != "Created"]
    return comparable({**status, "conditions": conditions})


def build_outcome(want):
    if "panic" in want:
        return {"panic": True}
    if "error" in want:
        return {"error": True}
    return {"objects": comparable_objects(want.get("objects", [])), "status": comparable_status(want.get("status", {})),
            "deleted": want.get("deleted", []), "patched": want.get("patched", [])}


def admission_outcome(want, given):
    if "panic" in want:
        return {"panic": True}
    crd = want.get("crd", {"allowed": True, "fields": [], "types": []})
    return {"allowed": want["allowed"], "warnings": len(want["warnings"]), "fields": sorted(field.lower() for field in want["fields"]),
            "types": want["types"], "crd": crd, "object": comparable(want.get("patchedObject", given))}


def places(one, other, path=""):
    """Yields the paths where two trees differ."""
    if one == other or (one in ANYTHING and other):
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        return [place for key in sorted(one.keys() | other.keys()) for place in places(one.get(key), other.get(key), f"{path}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [place for i, (a, b) in enumerate(zip(one, other)) for place in places(a, b, f"{path}[{i}]")]
    return [path]


def differences(case, upstream, ours):
    """Returns the differences between Kubeflow Trainer and Signalbox by the rules of the README.md; empty if there are none."""
    if case.parent.name == "admission":
        given = yaml.safe_load((case / "admission.yaml").read_text())["object"]
        return places(admission_outcome(upstream, given), admission_outcome(ours, given))
    return places(build_outcome(upstream), build_outcome(ours))
