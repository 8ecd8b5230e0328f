"""Schemas as flat tables: one row of facts per node, to compare, count and hash."""

import functools
import hashlib
import json
import re

import yaml

from paths import ROOT

RULES = "x-kubernetes-validations"


@functools.cache
def checked_in(plural):
    """Returns the schema of a CRD in manifests/; not to be changed."""
    text = (ROOT / "manifests" / "base" / "crds" / f"{plural}.yaml").read_text()
    return yaml.load(text, Loader=yaml.CSafeLoader)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def flat(schema, path=""):
    """Returns {path: facts} of every node of a schema, without descriptions and the messages of rules. A path ends in [] for the items
    of a list and in {} for the values of a map; the root's is empty."""
    facts = {key: value for key, value in schema.items()
             if key not in ("description", "properties", "items") and not isinstance(value, dict)}
    if RULES in facts:
        facts[RULES] = [squeezed(rule["rule"]) for rule in facts[RULES]]
    if "default" in schema:
        facts["default"] = schema["default"]
    if "required" in facts:
        facts["required"] = sorted(facts["required"])
    rows = {path: facts}
    for name, child in schema.get("properties", {}).items():
        rows |= flat(child, f"{path}.{name}" if path else name)
    for key, step in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict):
            rows |= flat(schema[key], path + step)
    return rows


def nested(rows):
    """Returns the schema from which flat() makes these rows."""
    schema = {}
    for path in sorted(rows):
        node = schema
        for key, name in steps(path):
            node = node.setdefault(key, {})
            if name is not None:
                node = node.setdefault(name, {})
        node |= rows[path]
        if RULES in node:
            node[RULES] = [{"rule": rule} for rule in node[RULES]]
    return schema


def steps(path):
    """Returns the steps of a path: a.b[] -> (properties, a), (properties, b), (items, None)"""
    for part in path.split(".") if path else []:
        name = part.rstrip("[]{}")
        yield "properties", name
        for closing in part[len(name)::2]:
            yield ("items", None) if closing == "[" else ("additionalProperties", None)


def below(path, root):
    """Returns whether a node is the root or within it."""
    return path == root or (path.startswith(root) and path[len(root)] in ".[{")


def digest(rows, root):
    """Returns a digest of a subtree: the number of nodes, and a short hash of their facts. Equal subtrees have equal digests."""
    inside = {path[len(root):]: facts for path, facts in rows.items() if below(path, root)}
    text = json.dumps(inside, sort_keys=True, separators=(",", ":"))
    return f"{len(inside)} nodes, {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def squeezed(rule):
    """Returns a rule without the optional blanks."""
    return re.sub(r"(?<!\w)\s+|\s+(?!\w)", "", rule)


SHORT_TYPES = {("integer", "int32"): "int32", ("integer", "int64"): "int64", ("string", "date-time"): "date-time",
               ("array", "map"): "map", ("array", "set"): "set", ("array", "atomic"): "atomic list", ("array", None): "list"}
SHORT_NAMES = {"minimum": "min", "minLength": "min", "minItems": "min", "minProperties": "min", "maximum": "max", "maxLength": "max",
               "maxItems": "max", "x-kubernetes-list-map-keys": "keys", RULES: "rules"}


def short(facts):
    """Returns facts in a short form: {type: int32, min: 1}. Nothing is lost."""
    facts = dict(facts)
    kind = facts.pop("type", None)
    detail = facts.pop("x-kubernetes-list-type", None) if kind == "array" else facts.pop("format", None)
    name = SHORT_TYPES.get((kind, detail), kind if detail is None else f"{kind} {detail}")
    return {"type": name} | {SHORT_NAMES.get(key, key): value for key, value in facts.items()}
