"""Tables in which a valid object and one change make a row. The tables are data (rows/*.yaml), so that a new rule is one
row, and other programs can read them too.

A file holds
  base     a valid object
  paths    names for long paths; "$name" at the start of a path stands for one
  target   status: rows change the status subresource of the base as it was stored (default: the object itself)
  rows     name, and what to do:
    before       changes that make the old object of an update; a row with `before` is an update, others create
    set, remove  the change: values by path, paths
    refused      path of the field that is to blame; absent: accepted
    because      part of the message; reason: the kind of error (FieldValueInvalid, ...)
    stored       values by path as they come back; null: nothing is there

Values may be {$text: N}, a string of N letters, or {$list: N, of: X}, N copies of X with "#" replaced by the position.
"""

import copy
import pathlib
import re

import yaml

DIRECTORY = pathlib.Path(__file__).resolve().parent / "rows"
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class Table:
    def __init__(self, path):
        data = yaml.safe_load(path.read_text())
        self.name = path.stem
        self.base = data["base"]
        self.paths = data.get("paths", {})
        self.target = data.get("target", "object")
        self.rows = data["rows"]

    def changed(self, obj, row):
        """A copy of obj with the row's change."""
        return self._change(obj, row.get("set", {}), row.get("remove", []))

    def before(self, row):
        """The old object of an update."""
        return self._change(self.base, row["before"] or {}, [])

    def value(self, obj, path):
        """What is at the path, or None."""
        for step in steps(self._full(path)):
            try:
                obj = obj[step]
            except (KeyError, IndexError, TypeError):
                return None
        return obj

    def field(self, path):
        """A path as error messages write it."""
        return self._full(path)

    def _full(self, path):
        if not path.startswith("$"):
            return path
        name = re.match(r"\$(\w+)", path).group(1)
        return self._full(self.paths[name]) + path[len(name) + 1:]

    def _change(self, obj, values, removals):
        changed = copy.deepcopy(obj)
        for path in removals:
            *way, last = steps(self._full(path))
            parent = changed
            for step in way:
                parent = parent[step]
            del parent[last]
        for path, value in values.items():
            put(changed, steps(self._full(path)), expand(value))
        return changed


def tables():
    return [Table(path) for path in sorted(DIRECTORY.glob("*.yaml"))]


def steps(path):
    """spec.a[1].b -> spec, a, 1, b"""
    return [name or int(index) for name, index in STEP.findall(path)]


def put(obj, way, value):
    """Sets a value; objects on the way are made, and one position after a list's end extends it."""
    for step, following in zip(way, way[1:]):
        if isinstance(step, int) and step == len(obj):
            obj.append({})
        elif isinstance(step, str) and step not in obj:
            obj[step] = [] if isinstance(following, int) else {}
        obj = obj[step]
    if isinstance(way[-1], int) and way[-1] == len(obj):
        obj.append(value)
    else:
        obj[way[-1]] = value


def expand(value):
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$text" in value:
        return "a" * value["$text"]
    if "$list" in value:
        return [numbered(expand(value["of"]), position) for position in range(value["$list"])]
    return {key: expand(item) for key, item in value.items()}


def numbered(value, position):
    if isinstance(value, str):
        return value.replace("#", str(position))
    if isinstance(value, dict):
        return {key: numbered(item, position) for key, item in value.items()}
    return value
