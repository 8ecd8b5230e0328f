"""Checks that each list and map of the CRDs has a limit, or a reason why it has none: without a limit, an object of a megabyte may have
a hundred thousand entries of one kind. Every limit by name (limits.yaml) is used."""

import pathlib
import sys

import yaml

MANIFESTS = pathlib.Path(__file__).resolve().parents[2] / "manifests"
CRDS = MANIFESTS / "base" / "crds"

# Paths below these prefixes have no limit, for the given reason.
UNLIMITED = {
    "TrainingRuntime.spec.template": "a JobSet, with JobSet's limits: every JobSet is accepted",
    "ClusterTrainingRuntime.spec.template": "a JobSet, with JobSet's limits: every JobSet is accepted",
}
LIMITS = {"items": "maxItems", "additionalProperties": "maxProperties"}


def unlimited(schema, path):
    """Yields the paths of lists and maps without a limit, and of nodes that may hold anything."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        yield path
    for kind, limit in LIMITS.items():
        if isinstance(schema.get(kind), dict):
            if limit not in schema:
                yield path
            yield from unlimited(schema[kind], path + ("[]" if kind == "items" else "{}"))
    for name, member in schema.get("properties", {}).items():
        yield from unlimited(member, f"{path}.{name}")


def limits_of(schema, name):
    """Yields (name, limit) of all limited nodes."""
    for kind, limit in LIMITS.items():
        if isinstance(schema.get(kind), dict):
            yield name, schema.get(limit)
            yield from limits_of(schema[kind], name)
    for field, member in schema.get("properties", {}).items():
        yield from limits_of(member, field)


def main():
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    unused = set(yaml.load((MANIFESTS / "crds-source" / "limits.yaml").read_text(), Loader=loader)["limits"].items())
    wrong, excused = [], set()
    for file in sorted(CRDS.glob("*s.yaml")):
        crd = yaml.load(file.read_text(), Loader=loader)
        for version in crd["spec"]["versions"]:
            unused -= set(limits_of(version["schema"]["openAPIV3Schema"], ""))
            for path in unlimited(version["schema"]["openAPIV3Schema"], crd["spec"]["names"]["kind"]):
                reason = next((prefix for prefix in UNLIMITED if path.startswith(prefix + ".")), None)
                excused.add(reason)
                if not reason:
                    wrong.append(f"{path} has no limit: manifests/crds-source/limits.yaml, or a reason in {pathlib.Path(__file__).name}")
    wrong += [f"limits.yaml: no field has the limit of {name}" for name, _ in sorted(unused)]
    wrong += [f"{prefix} needs no reason" for prefix in UNLIMITED if prefix not in excused]
    if wrong:
        print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
