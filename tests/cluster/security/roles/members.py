"""Values for the members of a schema, and what a token changes of an object."""

import re

from accounts import OF_OURS
from rest import ApiError

# Strings for members with a pattern or a minimum length: two of each.
STRINGS = [("any", "another"), ("Any", "Another"), ("a" * 64, "b" * 64), ("sha256:" + "a" * 64, "sha256:" + "b" * 64)]
# What denies a write: our policies, or the authorizer.
DENIED = re.compile(f"{OF_OURS}| cannot (create|update|patch|delete) ")


def two_values(schema, definitions=()):
    """Returns two valid values of an OpenAPI schema that differ in every member. definitions: what it refers to"""
    reference = schema.get("$ref") or schema.get("allOf", [{}])[0].get("$ref")
    if reference:
        return two_values(definitions[reference.rpartition("/")[2]], definitions)
    if "enum" in schema:
        return schema["enum"][0], schema["enum"][-1]
    kind, form = schema.get("type", "string"), schema.get("format")
    if kind == "object" and "additionalProperties" in schema:
        return tuple({"any": value} for value in two_values(schema["additionalProperties"], definitions))
    if kind == "object":
        both = {name: two_values(member, definitions) for name, member in schema.get("properties", {}).items()}
        return tuple({name: values[number] for name, values in both.items()} for number in (0, 1))
    if kind == "array":
        return tuple([value] for value in two_values(schema["items"], definitions))
    if kind in ("integer", "number"):
        return schema.get("minimum", 0), schema.get("minimum", 0) + 1
    if kind == "boolean":
        return False, True
    if form in ("date-time", "byte"):
        return {"date-time": ("2026-01-15T10:00:00.000000Z", "2026-01-15T11:00:00.000000Z"), "byte": ("YQ==", "Yg==")}[form]
    return next(pair for pair in STRINGS if all(re.search(schema.get("pattern", ""), each) for each in pair)
                and len(pair[0]) >= schema.get("minLength", 0))


def attempt(act):
    """Returns the object after the write; "denied" if the account may not do it, and "invalid" if no client may."""
    try:
        return act()
    except ApiError as error:
        if DENIED.search(str(error)):
            assert error.code == 403, "the code by which the reconciler recognizes a denial"
            return "denied"
        assert error.code in (400, 409, 422), str(error)
        return "invalid"


def changed_members(before, after):
    """Returns the members of two objects that differ, with those of `metadata` as "metadata.NAME"."""
    def flat(obj):
        members = {f"metadata.{name}": value for name, value in obj["metadata"].items()}
        return {**{name: value for name, value in obj.items() if name != "metadata"}, **members}
    one, other = flat(before), flat(after)
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
