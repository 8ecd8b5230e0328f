"""The schema of the documents that `kubectl trainjob` prints, and a check of documents by it. The check is stricter than the schema is for
users: a field that the schema lacks is an error."""

import datetime
import json

from paths import ROOT

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "trainjob-documents.json").read_text())
KEYWORDS = {"$ref", "allOf", "description", "enum", "format", "items", "maximum", "minimum", "properties", "required", "type"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def require_valid(document, kind):
    """`kind`: list, job or explanation."""
    found = list(errors(document, SCHEMA["$defs"][kind], kind))
    assert not found, found


def resolved(schema):
    """Returns the schema with what it refers to, as one."""
    assert schema.keys() <= KEYWORDS, schema.keys() - KEYWORDS
    whole = dict(schema)
    if reference := whole.pop("$ref", None):
        whole = {**resolved(SCHEMA["$defs"][reference.rpartition("/")[2]]), **whole}
    for part in map(resolved, whole.pop("allOf", ())):
        whole["properties"] = {**part.get("properties", {}), **whole.get("properties", {})}
        whole["required"] = [*part.get("required", ()), *whole.get("required", ())]
    return whole


def errors(value, schema, place):
    schema = resolved(schema)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    if (wanted := TYPES.get(schema.get("type"))) and type(value) is not wanted:
        yield f"{place}: {value!r} is no {schema['type']}"
        return
    if schema.get("format") == "date-time" and not is_time(value):
        yield f"{place}: {value!r} is no time"
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        yield f"{place}: {value} is out of range"
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from errors(each, schema["items"], f"{place}[{index}]")
    if isinstance(value, dict):
        yield from (f"{place}: {name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, each in value.items():
            part = schema.get("properties", {}).get(name)
            if part is None:
                yield f"{place}: the schema has no {name}"
            else:
                yield from errors(each, part, f"{place}.{name}")


def is_time(text):
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def fields(schema, place=""):
    """Yields the path of each field: "progress.percent", "pods[].name"."""
    schema = resolved(schema)
    for name, part in schema.get("properties", {}).items():
        yield place + name
        yield from fields(part, f"{place}{name}.")
    if "items" in schema:
        yield from fields(schema["items"], f"{place[:-1]}[].")
