"""Checks that each number of our own schemas has a minimum and a maximum: without them, -1 is stored and built.

Embedded types of Kubernetes ($embed) are not ours and have the bounds of their sources. A format counts as a maximum. A CEL rule
"self >= N" counts as a minimum: Kubeflow Trainer's schema has such rules."""

import pathlib
import re
import sys

import yaml

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "manifests" / "crds-source"
# These are no schemas: the places of embedded types, and limits of lists by name.
NO_SCHEMAS = ("kubernetes-types.yaml", "limits.yaml")

# Numbers without a bound, and why. The path begins with the definition.
UNBOUNDED = {
    "Failure.exitCode": "as of the rules: those of Windows are negative",
    "FailureRule.onExitCodes.values[]": "any int32 is an exit code: those of Windows are negative",
    "TorchPolicy.numProcPerNode": "a number or a word, so it has no format; torchrun starts as many processes as it can",
}


def schemas_of(schema, path):
    """Yields (path, schema) of the schema and of all schemas in it."""
    yield path, schema
    for name, member in schema.get("properties", {}).items():
        yield from schemas_of(member, f"{path}.{name}")
    for kind, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(kind), dict):
            yield from schemas_of(schema[kind], path + mark)
    for place, member in schema.get("$at", {}).items():
        yield from schemas_of(member, f"{path}.{place}")


def is_number(schema):
    return any(part.get("type") in ("integer", "number") for part in [schema, *schema.get("anyOf", [])])


def missing(schema):
    """Returns the bounds that a number lacks."""
    rules = [rule["rule"] for rule in schema.get("x-kubernetes-validations", []) if "rule" in rule]
    if "minimum" not in schema and not any(re.search(r"\bself >= -?\d+", rule) for rule in rules):
        yield "minimum"
    if "maximum" not in schema and "format" not in schema:
        yield "maximum"


def offences(sources):
    """Yields what is wrong with the schemas of sources, {file: YAML}."""
    unused = set(UNBOUNDED)
    for file, source in sources.items():
        roots = {kind["kind"]: kind["schema"] for kind in source.get("kinds", [])} | source.get("definitions", {})
        for root, schema in roots.items():
            for path, node in schemas_of(schema, root):
                lacks = list(missing(node)) if is_number(node) else []
                if lacks and path not in UNBOUNDED:
                    yield f"{file}: {path} has no {' and no '.join(lacks)}: add it, or a reason in {pathlib.Path(__file__).name}"
                unused -= {path} if lacks else set()
    yield from (f"{path} needs no reason" for path in sorted(unused))


def main():
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sources = {path.name: yaml.load(path.read_text(), Loader=loader) for path in sorted(SOURCES.glob("*.yaml")) if path.name not in NO_SCHEMAS}
    # The guard itself: it finds what it is for.
    probe = {"definitions": {"A": {"properties": {"a": {"type": "integer", "format": "int32"}, "b": {"items": {"type": "integer", "minimum": 0}}}}}}
    found = [line for line in offences({"probe": probe}) if line.startswith("probe")]
    assert len(found) == 2 and "A.a has no minimum:" in found[0] and "A.b[] has no maximum:" in found[1], found
    wrong = list(offences(sources))
    if wrong:
        print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
