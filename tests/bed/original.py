"""Kubeflow Trainer's CRDs, derived from Signalbox's by the facts of original.yaml and the differences of differences.yaml."""

import copy
import functools
import re

import schemas
import yaml
from paths import DATA, ROOT

HERE = DATA / "crds"
FACTS = yaml.load((HERE / "original.yaml").read_text(), Loader=yaml.CSafeLoader)
DIFFERENCES = yaml.load((HERE / "differences.yaml").read_text(), Loader=yaml.CSafeLoader)
CRDS = {kind: crd for crd in FACTS["crds"] for kind in crd["kinds"]}
NAMED = {rule: name for name, rule in FACTS["rules"].items()}


def full(kind, path):
    """Returns a path with its "$name" expanded."""
    while name := re.match(r"\$(\w+)", path):
        path = CRDS[kind]["paths"][name.group(1)] + path[name.end():]
    return path


def shortened(facts):
    """Returns facts in the form of original.yaml, with rules by name."""
    facts = schemas.short(facts)
    if "rules" in facts:
        facts["rules"] = [NAMED.get(rule, rule) for rule in facts["rules"]]
    return facts


def differences_of(kind):
    """Yields (difference, full path) of each node of a kind that differs."""
    for difference in DIFFERENCES:
        if kind in difference["kinds"]:
            for path in limited(kind) if difference["paths"] == "limits.yaml" else difference["paths"]:
                yield difference, full(kind, path)


@functools.cache
def limited(kind):
    """Returns the lists and maps whose limit comes from their name."""
    limits = yaml.load((ROOT / "manifests" / "crds-source" / "limits.yaml").read_text(), Loader=yaml.CSafeLoader)["limits"]
    return [path for path, facts in schemas.flat(schemas.checked_in(kind)).items()
            if {facts.get("maxItems"), facts.get("maxProperties")} & {limits.get(path.rpartition(".")[2])} - {None}]


def undone(kind, rows):
    """Returns the rows of Signalbox's schema (schemas.flat) with every difference undone, which gives Kubeflow Trainer's schema."""
    rows = copy.deepcopy(rows)
    for difference, path in differences_of(kind):
        if difference["original"] == "absent":
            rows = {at: facts for at, facts in rows.items() if not schemas.below(at, path)}
        else:
            node = rows.setdefault(path, {})
            for name, value in difference["original"].items():
                put(node, name, value)
    return rows


def put(facts, name, value):
    """Sets a fact by its short name; None removes it."""
    if name == "rules":
        name, value = schemas.RULES, value and [FACTS["rules"][rule] for rule in value]
    elif value == "list":
        value = "array"
    if value is None:
        facts.pop(name, None)
    else:
        facts[name] = value
