"""The cases of tests/data/admission, as far as CRDs decide them: `crd` in want.json has the fields that the schema rejects, and the
types of the causes."""

import copy
import json

import pytest
import yaml

from paths import ROOT
from rest import ApiError, path_of
from rows import blamed

CASES = ROOT / "tests" / "data" / "admission"
TITLES = {"FieldValueInvalid": "Invalid value", "FieldValueRequired": "Required value"}


def load(name):
    case = yaml.load((CASES / name / "admission.yaml").read_text(), Loader=yaml.CSafeLoader)
    want = json.loads((CASES / name / "want.json").read_text()).get("crd", {"fields": [], "types": []})
    # For rules on the root, want.json has no field, and the API server reports the field <nil>.
    return case, sorted(want["fields"] or ["<nil>"] * len(want["types"])), sorted(want["types"])


def here(obj):
    """Returns the object in an existing namespace, without members that the API server sets or that would block its deletion."""
    obj = copy.deepcopy(obj)
    for key in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation", "finalizers"):
        obj["metadata"].pop(key, None)
    if "namespace" in obj["metadata"]:
        obj["metadata"]["namespace"] = "default"
    return obj


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir() if path.is_dir()))
def test_the_schema_decides_as_the_case_says(rest, name):
    case, fields, types = load(name)
    try:
        send(rest, case)
    except ApiError as error:
        assert error.code == 422, error
        found = blamed(error)
        assert sorted(field for field, _ in found) == fields
        assert sorted({TITLES[reason] for _, reason in found}) == types
    else:
        assert (fields, types) == ([], [])


def send(rest, case):
    obj = here(case["object"])
    if case["operation"] == "CREATE":
        return rest.create(obj, dry_run=True)
    old = rest.create(here(case["oldObject"]))
    plural, meta = old["kind"].lower() + "s", old["metadata"]
    try:
        obj["metadata"]["resourceVersion"] = meta["resourceVersion"]
        return rest.request("PUT", path_of(plural, meta.get("namespace", ""), meta["name"]) + "?dryRun=All", obj)
    finally:
        rest.delete(plural, meta["name"], meta.get("namespace", ""))


def test_the_schema_refuses_some_cases():
    assert sum("crd" in json.loads(file.read_text()) for file in CASES.glob("*/want.json")) == 17
