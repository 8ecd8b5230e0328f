"""The rows are complete: every bound of Signalbox's own fields is met and exceeded, every key duplicated, every required field left
out, every default filled in, every enum and every rule violated once."""

import re

import original
import pytest
import schemas

from rows import tables

PLURALS = {"TrainJob": "trainjobs", "TrainingRuntime": "trainingruntimes", "ClusterTrainingRuntime": "clustertrainingruntimes"}
BOUNDS = {
    "minimum": (int, lambda value: value, 1), "maximum": (int, lambda value: value, -1),
    "minLength": (str, len, 1), "maxLength": (str, len, -1),
    "minItems": (list, len, 1), "maxItems": (list, len, -1),
    "minProperties": (dict, len, 1), "maxProperties": (dict, len, -1),
}
# Pairs that come from one definition each, so rows for one count for the other.
TWINS = [("spec.initializer.model", "spec.initializer.dataset"), (".initContainers", ".containers")]


class Schema:
    def __init__(self, plural):
        self.tree = schemas.checked_in(plural)
        embedded = [original.full(plural, path) for path, facts in original.CRDS[plural]["fields"].items() if "subtree" in facts]
        self.nodes = {normal(path): facts for path, facts in schemas.flat(self.tree).items()
                      if path == normal(path) and not any(schemas.below(path, root) for root in embedded)}

    def of_ours(self, fact):
        """Yields (path, value) of each node with the fact. A forbidden field has no fact but its rule."""
        return [(path, facts[fact]) for path, facts in self.nodes.items()
                if fact in facts and (fact == schemas.RULES or facts.get(schemas.RULES) != ["false"])]


def normal(path):
    """Returns a path without indexes, with the first name of a pair."""
    path = re.sub(r"\[\d+\]", "[]", path)
    for twin, other in TWINS:
        path = path.replace(twin, other)
    return path


def values(value, schema, path=""):
    """Yields every value of an object, with the path of its node."""
    yield path, value
    if isinstance(value, dict):
        for key, child in value.items():
            if key in schema.get("properties", {}):
                yield from values(child, schema["properties"][key], f"{path}.{key}" if path else key)
    if isinstance(value, list) and "items" in schema:
        for child in value:
            yield from values(child, schema["items"], path + "[]")


@pytest.fixture(scope="module", params=PLURALS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def schema(kind):
    return Schema(PLURALS[kind])


@pytest.fixture(scope="module")
def rows(kind):
    """Returns (row, rejected field or None, the object) of every row of the kind."""
    found = []
    for table in tables():
        if table.base["kind"] == kind:
            for row in table.rows:
                blamed = normal(table.field(row["refused"])) if "refused" in row else None
                base = table.before(row) if "before" in row else table.base
                found.append((table, row, blamed, table.changed(table.changed(base, row.get("between", {})), row)))
    return found


@pytest.fixture(scope="module")
def met(schema, rows):
    """Returns (path, value) of all accepted objects."""
    return [(normal(path), value) for _, _, blamed, obj in rows if not blamed for path, value in values(obj, schema.tree)]


@pytest.fixture(scope="module")
def blamed(rows):
    """Returns (path, reason) of all rejections."""
    return {(path, row["reason"]) for _, row, path, _ in rows if path}


@pytest.mark.parametrize("bound", BOUNDS)
def test_each_bound_is_met_and_overstepped(schema, rows, met, bound):
    kind, size, step = BOUNDS[bound]
    sizes = {(path, size(value)) for path, value in met if isinstance(value, kind)}
    beyond = {(path, size(value)) for _, _, field, obj in rows if field for path, value in values(obj, schema.tree)
              if normal(path) == field and isinstance(value, kind)}
    missing = []
    for path, limit in schema.of_ours(bound):
        at_limit = sizes | beyond if path == "spec.managedBy" else sizes  # a rule allows two values, and none is as long
        missing += [f"{path} of {limit}"] * ((path, limit) not in at_limit)
        missing += [f"{path} of {limit - step}, refused"] * ((path, limit - step) not in beyond)
    assert not missing


def test_each_required_field_is_left_out(schema, blamed):
    assert [f"{path}.{field}" for path, fields in schema.of_ours("required") for field in fields
            if (f"{path}.{field}".lstrip("."), "FieldValueRequired") not in blamed] == []


def test_each_key_is_doubled(schema, blamed):
    assert [path for path, kind in schema.of_ours("x-kubernetes-list-type")
            if kind != "atomic" and (path + "[]", "FieldValueDuplicate") not in blamed] == []


def test_each_value_of_an_enum_is_taken_and_another_refused(schema, met, blamed):
    for path, allowed in schema.of_ours("enum"):
        assert {value for at, value in met if at == path} >= set(allowed)
        assert (path, "FieldValueNotSupported") in blamed


def test_each_rule_is_violated(schema, blamed):
    refusing = {path for path, _ in blamed}
    assert [path for path, _ in schema.of_ours(schemas.RULES) if (path or "<nil>") not in refusing
            and path not in ("spec", "spec.runPolicy", "spec.runPolicy.failurePolicy.backoff",
                             "spec.mlPolicy.torch.elasticPolicy")] == []  # their rules report a member


def test_each_field_that_stays_has_its_rule_and_is_changed_by_a_row(schema, kind, blamed):
    rules = [rule for rule in schema.tree.get("x-kubernetes-validations", []) if "fieldPath" in rule]
    kept = {rule["fieldPath"].lstrip(".") for rule in rules}
    if kind == "TrainJob":
        trainer = schema.tree["properties"]["spec"]["properties"]["trainer"]["properties"]
        assert kept == {"spec.initializer", *(f"spec.trainer.{field}" for field in trainer)}
    assert kept - {path for path, _ in blamed} == set()


def test_each_default_is_filled_in(schema, rows):
    stored = {}
    for table, row, _, obj in rows:
        for path, want in row.get("stored", {}).items():
            node = schema.tree
            for path_in, value in values(want, at(node, table.field(path)), normal(table.field(path))):
                if path_in not in {normal(p) for p, v in values(obj, node) if v is not None}:
                    stored[path_in] = value
    missing = {path: value for path, value in schema.of_ours("default") if stored.get(path) != value}
    assert not missing


def test_twins_are_twins(schema, kind):
    for twin, other in TWINS:
        every = schemas.flat(schema.tree)
        found = [path for path in every if path.endswith(twin) or path == twin]
        for path in found:
            assert schemas.digest(every, path) == schemas.digest(every, path.replace(twin, other))


def at(node, path):
    for step in re.findall(r"[^.\[\]]+|\[\d+\]", path):
        node = node["items"] if step.startswith("[") else node.get("properties", {}).get(step, {})
    return node
