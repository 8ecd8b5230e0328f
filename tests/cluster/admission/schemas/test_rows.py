"""Every row of tests/data/rows on a real API server: whether it accepts the object, the stored form, and the rejected field."""

import pytest

from rest import ApiError
from rows import blamed, tables

CASES = [pytest.param(table, row, id=f"{table.name}: {row['name']}") for table in tables() for row in table.rows]


@pytest.mark.parametrize("table, row", CASES)
def test_row(sent, table, row):
    answer = sent.outcome(table, row)
    if isinstance(answer, ApiError):
        assert "refused" in row, f"refused: {answer}"
        assert blamed(answer) == {(table.field(row["refused"]), row["reason"])}, answer
        assert row.get("because", "") in str(answer)
        return
    assert "refused" not in row, "accepted"
    for path, value in row.get("stored", {}).items():
        assert table.value(answer, path) == value, path


def test_no_two_rows_have_one_name():
    names = [case.id for case in CASES]
    assert sorted(set(names)) == sorted(names)
