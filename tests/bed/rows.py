"""Reads tests/data/rows; README.md there says what a table is."""

import copy
import re

import yaml

from paths import DATA

DIRECTORY = DATA / "rows"
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class Table:
    """The rows of one file, for one kind."""

    def __init__(self, name, data, kind):
        self.name = name
        self.base = as_kind(data["base"], kind)
        self.paths = data.get("paths", {})
        self.target = data.get("target", "object")
        self.rows = data["rows"]
        self._runtime = data.get("runtime")

    def runtime(self, row):
        """The runtime that a row's TrainJob refers to, or None."""
        return self._runtime and self._change(self._runtime, row.get("runtime", {}), [])

    def changed(self, obj, change):
        """A copy of obj with the change of a row, or of what is stored between."""
        return self._change(obj, change.get("set", {}), change.get("remove", []))

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
            parent.pop(last, None)  # what a default would bring may be removed, too
        for path, value in values.items():
            put(changed, steps(self._full(path)), expand(value))
        return changed


def tables():
    found = []
    for path in sorted(DIRECTORY.glob("*.yaml")):
        data = yaml.safe_load(path.read_text())
        kinds = data.get("kinds", [data["base"]["kind"]])
        found += [Table(path.stem if len(kinds) == 1 else f"{path.stem} {kind}", data, kind) for kind in kinds]
    return found


def as_kind(obj, kind):
    obj = copy.deepcopy(obj)
    obj["kind"] = kind
    obj["metadata"].pop("namespace", None)
    if not kind.startswith("Cluster"):
        obj["metadata"]["namespace"] = "default"
    return obj


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
        return value.get("before", "") + "a" * value["$text"]
    if "$list" in value:
        return [numbered(expand(value["of"]), position) for position in range(value["$list"])]
    return {key: expand(item) for key, item in value.items()}


def numbered(value, position):
    if isinstance(value, str):
        return value.replace("#", str(position))
    if isinstance(value, dict):
        return {key: numbered(item, position) for key, item in value.items()}
    return value
