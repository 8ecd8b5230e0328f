"""The values of the chart as a table: their comments in manifests/chart/values.yaml, and their defaults."""

import pathlib
import re

VALUES = pathlib.Path(__file__).resolve().parents[2] / "manifests" / "chart" / "values.yaml"
HEAD = """# Values of the chart

Made by `scripts/generate-reference` from [values.yaml](../manifests/chart/values.yaml). [install.md](install.md#installing) has the commands.
Helm refuses a value that is not in this table, or has another type.

| Value | Default | Meaning |
|---|---|---|
"""


def entries():
    """Yields (path, default, comment). The default of a parent, or of what is as another one, is empty."""
    comment, parent = [], ""
    for line in VALUES.read_text().splitlines():
        if said := re.fullmatch(r" *# (.*)", line):
            comment.append(said[1])
        elif line and "<<" not in line:
            indent, name, value = re.fullmatch(r"( *)(\S+):(?: (.*))?", line).groups()
            if not indent:
                parent = name
            default = value if value and value[0] not in "&*" else ""
            yield f"{parent}.{name}" if indent else name, default, " ".join(comment)
            comment = []


def table():
    """Returns the document."""
    def row(path, default, comment):
        if not comment:
            raise SystemExit(f"{VALUES}: {path} has no comment")
        default = f"`{default}`" if default else ""
        return f"| `{path}` | {default} | {comment} |\n"
    return HEAD + "".join(row(*entry) for entry in entries())
