"""The rows at an API server with Kubeflow Trainer's CRDs: the outcomes are the same, except where differences.yaml has a difference.
Kubeflow Trainer's CRDs are derived from Signalbox's (original.py), in a group of their own."""

import json
import re

import original
import pytest
import schemas
import yaml

from schema_server import ROOT, is_served
from rest import ApiError, Rest, wait_for
from rows import Sent, blamed, tables

OURS, UPSTREAM = "trainer.kubeflow.org/v1alpha1", "original.example.com/v1alpha1"
PLURALS = ["trainjobs", "trainingruntimes", "clustertrainingruntimes"]


class OriginalRest(Rest):
    """A client that uses Kubeflow Trainer's kinds instead of Signalbox's."""

    def request(self, method, path, body=None, content_type="application/json"):
        if body and body.get("apiVersion") == OURS:
            body = {**body, "apiVersion": UPSTREAM}
        return super().request(method, path.replace(OURS, UPSTREAM), body, content_type)


def originals_crd(plural):
    crd = yaml.load((ROOT / "manifests" / "base" / "crds" / f"{plural}.yaml").read_text(), Loader=yaml.CSafeLoader)
    (version,) = crd["spec"]["versions"]
    rows = original.undone(plural, schemas.flat(version["schema"]["openAPIV3Schema"]))
    version["schema"]["openAPIV3Schema"] = schemas.nested(rows)
    group = UPSTREAM.partition("/")[0]
    crd["spec"]["group"] = group
    crd["metadata"] = {"name": f"{plural}.{group}"}
    return crd


@pytest.fixture(scope="module")
def original_rest(plane, rest):
    crds = [originals_crd(plural) for plural in PLURALS]
    plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": crds}))
    client = OriginalRest(plane.kubeconfig)
    for plural in PLURALS:
        wait_for(f"the original's {plural} to be served", lambda: is_served(client, plural))
    yield client
    for crd in crds:
        plane.kubectl("delete", "crd", crd["metadata"]["name"])


def outcome(sent, table, row):
    """Returns the stored object and the rejected fields."""
    answer = sent.outcome(table, row)
    if isinstance(answer, ApiError):
        assert answer.code == 422, answer
        return None, {field for field, _ in blamed(answer)}
    return {key: answer.get(key) for key in ("spec", "status")}, set()


def changes(one, other, path=""):
    """Returns the paths, without indexes, at which two trees differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {*one, *other}:
            if one.get(key) != other.get(key):
                yield from changes(one.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other):
            if left != right:
                yield from changes(left, right, path + "[]")
    else:
        yield path


def explanations(plural, ours, upstream):
    """Returns the differences that explain different outcomes. Raises KeyError for a path that none explains."""
    stored, refused = zip(ours, upstream)
    paths = {re.sub(r"\[\d+\]", "[]", field) for fields in refused for field in fields} or set(changes(*stored))
    for path in paths:
        found = [difference for difference, node in original.differences_of(plural)
                 if related(path, difference, node, refusal=None in stored)]
        if not found:
            raise KeyError(path)
        yield from found


def related(path, difference, node, refusal):
    """Returns whether a difference explains a path: the path is within the node that differs or, where a rule rejects, around it."""
    if "blames" in difference:
        blames = difference["blames"]
        return path in blames if isinstance(blames, list) else path == blames
    return schemas.below(path, node) or refusal and schemas.below(node, path)


def test_the_rows_fare_as_with_the_original_but_for_the_listed_differences(sent, original_rest):
    sent_upstream = Sent(original_rest)
    unexplained, shown = [], []
    for table in tables():
        for row in table.rows:
            ours, upstream = outcome(sent, table, row), outcome(sent_upstream, table, row)
            if ours[0] == upstream[0]:
                continue
            try:
                shown += explanations(table.base["kind"].lower() + "s", ours, upstream)
            except KeyError as path:
                unexplained.append(f"{table.name}: {row['name']}: {path}")
    assert not unexplained
    # A listed difference without a row that shows it is wrong, or lacks a row.
    assert [d["paths"] for d in original.DIFFERENCES if d not in shown and not d.get("vacuous")] == []
