"""Every row of tests/data/rows on a real API server: what it accepts, refuses and stores, and which field it blames."""

import copy
import re

import pytest

from rest import ApiError, path_of
from rows import tables

# What the API server adds when it leaves out CEL rules because the types are wrong already.
NOTE = "some validation rules were not checked"
RANGE = re.compile(r"Checked value must be of type .* in (.*)$")
CASES = [pytest.param(table, row, id=f"{table.name}: {row['name']}") for table in tables() for row in table.rows]


@pytest.mark.parametrize("table, row", CASES)
def test_row(rest, table, row):
    try:
        answer = send(rest, table, row)
    except ApiError as error:
        assert "refused" in row, f"refused: {error}"
        assert blamed(error) == {(table.field(row["refused"]), row["reason"])}, error
        assert row.get("because", "") in str(error)
        return
    assert "refused" not in row, "accepted"
    for path, value in row.get("stored", {}).items():
        assert table.value(answer, path) == value, path


def blamed(error):
    """Field and reason of each cause. Of numbers out of their format's range the API server speaks in the message only, and
    of those that are of another type as well, in both ways."""
    causes = [c for c in error.status["details"].get("causes", []) if NOTE not in c.get("message", "")]
    found = {(c["field"], c["reason"]) for c in causes if not RANGE.search(c["message"])}
    return found or {(RANGE.search(c["message"]).group(1), c["reason"]) for c in causes}


def send(rest, table, row):
    """Does what the row says, without leaving anything behind; the object as it would be stored."""
    if "before" not in row and table.target == "object":
        return rest.create(table.changed(table.base, row), dry_run=True)
    old = rest.create(table.before(row) if "before" in row else table.base)
    meta = old["metadata"]
    plural = old["kind"].lower() + "s"
    try:
        path = path_of(plural, meta.get("namespace", ""), meta["name"])
        if "between" in row:
            old = rest.request("PUT", path, table.changed(old, row["between"]))
        if table.target == "status":
            path += "/status"
        return rest.request("PUT", path + "?dryRun=All", table.changed(copy.deepcopy(old), row))
    finally:
        rest.delete(plural, meta["name"], meta.get("namespace", ""))
