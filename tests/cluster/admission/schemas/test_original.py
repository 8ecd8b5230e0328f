"""Signalbox's CRDs accept and store the same objects as Kubeflow Trainer's, except for differences.yaml."""

import pytest
import original
import schemas

KINDS = ["trainjobs", "trainingruntimes", "clustertrainingruntimes"]


def our_rows(kind):
    return schemas.flat(schemas.checked_in(kind))


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def rows(kind):
    return our_rows(kind)


@pytest.fixture(scope="module")
def undone(kind, rows):
    return original.undone(kind, rows)


def test_without_the_differences_each_field_is_the_originals(kind, undone):
    wrong = {}
    for path, want in original.CRDS[kind]["fields"].items():
        path = original.full(kind, path)
        if path not in undone:
            got = None
        elif "subtree" in want:
            got = {"subtree": schemas.digest(undone, path)}
        else:
            got = original.shortened(undone[path])
        if got != want:
            wrong[path] = (got, want)
    assert not wrong


def test_without_the_differences_there_is_no_other_field(kind, undone):
    table = original.CRDS[kind]["fields"]
    embedded = [original.full(kind, path) for path, facts in table.items() if "subtree" in facts]
    listed = {original.full(kind, path) for path in table} | {"apiVersion", "kind", "metadata"}
    assert [path for path in undone if path not in listed and not any(schemas.below(path, root) for root in embedded)] == []
    assert len(undone) == original.CRDS[kind]["nodes"]


def test_each_difference_is_there(kind, rows):
    for difference, path in original.differences_of(kind):
        ours = difference.get("ours", {})
        if ours == "absent":
            assert path not in rows, path
            continue
        assert path in rows, path
        facts = original.shortened(rows[path])
        assert {name: facts.get(name) for name in ours} == ours, path


def test_a_schema_can_be_made_of_its_rows(rows):
    assert schemas.flat(schemas.nested(rows)) == rows
