"""Every row of rows/*.yaml on a real API server: what it accepts, refuses and stores, and which field it blames."""

import copy
import re

import pytest

from rest import ApiError, path_of
from rows import tables

# What the API server adds when it leaves out CEL rules because the types are wrong already.
NOTE = "some validation rules were not checked"
CASES = [pytest.param(table, row, id=f"{table.name}: {row['name']}") for table in tables() for row in table.rows]


@pytest.mark.parametrize("table, row", CASES)
def test_row(rest, table, row):
    try:
        answer = send(rest, table, row)
    except ApiError as error:
        causes = [c for c in error.status["details"].get("causes", []) if NOTE not in c.get("message", "")]
        assert "refused" in row, f"refused: {error}"
        assert {blamed(c) for c in causes} == {table.field(row["refused"])}, error
        assert row.get("because", "") in str(error)
        assert row.get("reason", causes[0]["reason"]) == causes[0]["reason"], error
        return
    assert "refused" not in row, "accepted"
    for path, value in row.get("stored", {}).items():
        assert table.value(answer, path) == value, path


def blamed(cause):
    """The field of a cause. Of numbers out of their type's range the API server speaks in the message only."""
    range_error = re.search(r"Checked value must be of type .* in (.*)$", cause["message"])
    return range_error.group(1) if range_error else cause["field"]


def send(rest, table, row):
    """Does what the row says, without leaving anything behind; the object as it would be stored."""
    if "before" not in row and table.target == "object":
        return rest.create(table.changed(table.base, row), dry_run=True)
    old = rest.create(table.before(row) if "before" in row else table.base)
    meta = old["metadata"]
    plural = old["kind"].lower() + "s"
    try:
        path = path_of(plural, meta.get("namespace", ""), meta["name"])
        if table.target == "status":
            path += "/status"
        return rest.request("PUT", path + "?dryRun=All", table.changed(copy.deepcopy(old), row))
    finally:
        rest.delete(plural, meta["name"], meta.get("namespace", ""))
