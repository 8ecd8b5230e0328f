"""Reads tests/data/rows, and sends the rows to API servers. README.md there describes the tables."""

import copy
import functools
import re

import yaml

from paths import DATA
from rest import ApiError, path_of

DIRECTORY = DATA / "rows"
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
# The API server adds this cause when wrong types make it skip CEL rules.
NOTE = "some validation rules were not checked"
RANGE = re.compile(r"Checked value must be of type .* in (.*)$")


class Table:
    """The rows of one file, for one kind."""

    def __init__(self, name, data, kind):
        self.name = name
        self.base = as_kind(data["base"], kind)
        self.paths = data.get("paths", {})
        self.target = data.get("target", "object")
        self.rows = data["rows"]
        self._runtime = data.get("runtime")
        self._statuses = data.get("statuses", {})

    def runtime(self, row):
        """Returns the runtime that a row's TrainJob refers to, or None."""
        return self._runtime and self._change(self._runtime, row.get("runtime", {}), [])

    def changed(self, obj, change):
        """Returns a copy of obj with the change of a row, or with its change `between`."""
        return self._change(obj, change.get("set", {}), change.get("remove", []))

    def before(self, row):
        """Returns the old object of an update."""
        return self._change(self.base, row["before"] or {}, [])

    def status(self, row):
        """The status of the old object, or None."""
        return self._statuses[row["status"]] if "status" in row else None

    def value(self, obj, path):
        """Returns the value at the path, or None."""
        for step in steps(self._full(path)):
            try:
                obj = obj[step]
            except (KeyError, IndexError, TypeError):
                return None
        return obj

    def field(self, path):
        """Returns a path in the form of error messages."""
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
            parent.pop(last, None)  # a member with a default may be absent
        for path, value in values.items():
            put(changed, steps(self._full(path)), expand(value))
        return changed


@functools.cache
def tables():
    """Returns all tables; not to be changed."""
    found = []
    for path in sorted(DIRECTORY.glob("*.yaml")):
        data = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
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
    """Sets a value. Creates objects on the way. One position after a list's end extends the list."""
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
    if "$map" in value:
        return {f"k{position}": value["of"] for position in range(value["$map"])}
    return {key: expand(item) for key, item in value.items()}


def numbered(value, position):
    if isinstance(value, str):
        return value.replace("#", str(position))
    if isinstance(value, dict):
        return {key: numbered(item, position) for key, item in value.items()}
    return value


class Sent:
    """Rows at an API server. Each is sent once, however many tests use its outcome."""

    def __init__(self, rest):
        self._rest = rest
        self._outcomes = {}

    def outcome(self, table, row):
        """Returns the object as it would be stored, or the ApiError."""
        key = (table.name, row["name"])
        if key not in self._outcomes:
            try:
                self._outcomes[key] = send(self._rest, table, row)
            except ApiError as error:
                self._outcomes[key] = error
        return self._outcomes[key]


def send(rest, table, row):
    """Carries out a row, and deletes the objects that this needed. Returns the object as it would be stored."""
    if "before" not in row and table.target == "object":
        return rest.create(table.changed(table.base, row), dry_run=True)
    old = rest.create(table.before(row) if "before" in row else table.base)
    meta = old["metadata"]
    plural = old["kind"].lower() + "s"
    try:
        path = path_of(plural, meta.get("namespace", ""), meta["name"])
        if "between" in row:
            old = rest.request("PUT", path, table.changed(old, row["between"]))
        if status := table.status(row):
            old = rest.request("PUT", path + "/status", {**old, "status": status})
        if table.target == "status":
            path += "/status"
        return rest.request("PUT", path + "?dryRun=All", table.changed(copy.deepcopy(old), row))
    finally:
        rest.delete(plural, meta["name"], meta.get("namespace", ""))


def blamed(error):
    """Returns field and reason of each cause. The API server reports numbers out of their format's range in the message only, and
    those with another wrong type as well in both ways."""
    causes = [c for c in error.status["details"].get("causes", []) if NOTE not in c.get("message", "")]
    found = {(c["field"], c["reason"]) for c in causes if not RANGE.search(c["message"])}
    return found or {(RANGE.search(c["message"]).group(1), c["reason"]) for c in causes}
