"""TrainJobs as clients with Kubeflow Trainer's Go types write them, and TrainJobs for trying these clients."""

import copy
import json
import subprocess

import schemas
from controlplane.binaries import build_round_trip

RELEASES = ("2.2", "2.3")
NAMES = {"name": "a", "manager": "example.com/team", "mountPath": "/a", "key": "a"}


def round_trip(release, objects):
    """Returns the objects as a client with that release's types writes them back."""
    run = subprocess.run([build_round_trip(), release], check=True, text=True, capture_output=True,
                         input="".join(json.dumps(each) + "\n" for each in objects))
    return [json.loads(line) for line in run.stdout.splitlines()]


def specs():
    """Yields (path, spec) for each optional field of a TrainJob's spec: once with each value that its type may lose, and once with
    another one. The spec has nothing else but what the field requires."""
    schema = schemas.checked_in("trainjobs")["properties"]["spec"]
    return list(_with_each_field(schema, ""))


def _with_each_field(schema, path):
    """Yields (path, value of the schema's type) for everything below it."""
    for name, child in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        base = {key: value for key, value in _least(schema).items() if key != name}
        for value in _values(child) if name not in schema.get("required", []) else []:
            yield place, {**base, name: value}
        for below, value in _with_each_field(child, place):
            yield below, {**base, name: value}
    if "items" in schema:
        for below, value in _with_each_field(schema["items"], f"{path}[]"):
            yield below, [value]


def _values(schema):
    if "enum" in schema:
        return ["", schema["enum"][-1]]
    if schema.get("x-kubernetes-int-or-string"):
        return [0, "0", 2, "1000m", "0.5", "1024Mi"]
    if schema["type"] == "array":
        return [[], [_least(schema["items"])]]
    if schema["type"] == "object" and schema.get("additionalProperties"):
        values = schema["additionalProperties"]
        return [{}, *({"a": value} for value in _values(values))]
    if schema["type"] == "object":
        return [_least(schema)]  # empty if it can be
    if schema.get("format") == "date-time":
        return ["2026-01-15T10:00:00Z"]
    return {"boolean": [False, True], "integer": [0, 7], "string": ["", "a"]}[schema["type"]]


def _least(schema):
    """Returns a value with only the required members, none of them empty."""
    if schema.get("type") == "object" and not schema.get("additionalProperties"):
        return {name: NAMES.get(name) or _least(schema["properties"][name]) for name in schema.get("required", [])}
    if schema.get("type") == "array":
        return [_least(schema["items"])]
    return _values(schema)[-1]


def patched(value, operations):
    """Returns a copy of the value after JSON Patch operations that add and remove."""
    root = {"": copy.deepcopy(value)}
    for operation in operations:
        *way, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")]
        place = root
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        if operation["op"] == "remove":
            del place[last]
        elif isinstance(place, list):
            place.insert(int(last), operation["value"])
        else:
            place[last] = operation["value"]
    return root[""]
