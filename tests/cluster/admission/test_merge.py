"""Signalbox's strategic merge compared with the API server's, and its table of merge keys compared with the struct tags of Go.

Each random pair of a Pod spec and a patch is merged in two ways: by Signalbox, then sent as a new object; and by the API server, as
a strategic merge patch of the stored object. The API server defaults both results alike, so differences come from merging.
"""

import concurrent.futures
import copy
import functools
import json
import os
import pathlib
import subprocess
import threading

import schemas
from controlplane.binaries import build_struct_tags
from pod_pairs import Pairs

SEED = int(os.environ.get("SIGNALBOX_SEED", "1"))
BASES = 60
PATCHES = int(os.environ.get("SIGNALBOX_PATCHES", "18"))  # of each base
WORKERS = 4


def merge_lines(*arguments, lines=()):
    run = subprocess.run([pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "merge_lines", *arguments], check=True, text=True,
                         input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


@functools.cache
def struct_tags():
    """Returns the struct tags of JobSet's and Kubernetes' Go types, as tests/bed/jobset/structtags prints them."""
    return json.loads(subprocess.run([build_struct_tags()], check=True, text=True, capture_output=True).stdout)


# --- the table ---

POD = ".replicatedJobs.template.spec.template.spec"
# Where the table differs from the struct tags, with the reason.
OURS = {
    **{f"{POD}.{containers}.resources.claims": "core/v1 replaces the list; Signalbox merges the claims of a patch with those of the runtime"
       for containers in ("containers", "initContainers")},
    f"{POD}.serviceAccountName": "a pointer in TrainJob's PodSpecPatch: empty clears it",
}


def strategy_of(field):
    """Returns the table's strategy for a Go field."""
    if field["kind"] == "list" and "merge" in field.get("strategy", "").split(","):
        return ("by_key", field["key"]) if field.get("key") else ("as_set", None)
    if field["kind"] == "map":
        return "literal_map", None
    if field["kind"] == "scalar" and field.get("pointer"):
        return "keep_zero", None
    return "deep", None


def is_required(field):
    """Returns whether Go always encodes the field, also when it is empty. Empty is no valid value of these fields, so it does not matter
    whether a patch can express it; where zero is valid (weights, sysctls), the table keeps it."""
    return field["kind"] == "scalar" and not field.get("pointer") and not field.get("omitted")


def differences(crd, go_type, table, path=""):
    """Compares the fields that the CRD allows in a patch."""
    properties = (crd.get("items") or crd).get("properties") or {}
    for name, schema in properties.items():
        place = f"{path}.{name}"
        field = struct_tags()["types"][go_type][name]
        row = table.get(name, {"strategy": "deep"})
        have = (row["strategy"], row.get("key"))
        if have != strategy_of(field) and not is_required(field):
            yield place
        if field.get("type"):
            yield from differences(schema, field["type"], row.get("fields", {}), place)


def test_the_table_of_merge_keys_is_what_the_struct_tags_say():
    schema = schemas.checked_in("trainjobs")
    for step in ("spec", "runtimePatches", "items", "trainingRuntimeSpec", "template", "spec"):
        schema = schema[step] if step == "items" else schema["properties"][step]
    table = merge_lines("schema")[0]
    assert set(differences(schema, struct_tags()["root"], table)) == set(OURS)


def test_an_empty_object_counts_as_none_just_where_go_cannot_tell_them_apart():
    """Applies to a field that any type has as a map, or as a struct without a pointer."""
    plain = {}
    for fields in struct_tags()["types"].values():
        for name, field in fields.items():
            if field["kind"] in ("object", "map"):
                plain[name] = plain.get(name, False) or not field.get("pointer")
    names = sorted(plain)
    assert {"namespaceSelector", "nodeSelector", "emptyDir", "metadata"} <= set(names)
    same = merge_lines("equivalent", lines=[[{name: {}}, {}] for name in names])
    assert dict(zip(names, same, strict=True)) == plain


# --- the API server's merge ---

def typed(patch, go_type):
    """Returns the patch as a Go client sends it: null, empty lists and maps, and zeros that are no pointers are left out."""
    sent = {}
    for name, value in patch.items():
        field = struct_tags()["types"][go_type][name]
        if value is None or (field["kind"] in ("list", "map") and not value):
            continue
        if field["kind"] == "list":
            sent[name] = [typed(item, field["type"]) if isinstance(item, dict) else item for item in value]
        elif field["kind"] == "object":
            sent[name] = typed(value, field["type"])
        elif value or isinstance(value, dict) or field.get("pointer") or not field.get("omitted") or name == "serviceAccountName":
            sent[name] = value
    return sent


def retaining(item, group):
    """Keeps only the patch's member of a one-of group: Signalbox does that always, API servers with a directive."""
    if any(group(name) for name in item):
        item["$retainKeys"] = [name for name in item if name != "$retainKeys"]


def for_the_server(patch, base):
    """Returns the patch adapted for the API server, so that the intended differences do not show."""
    patch = typed(patch, "v1.PodSpec")
    for volume in patch.get("volumes", []):
        retaining(volume, lambda name: name != "name")
    for claim in patch.get("resourceClaims", []):
        retaining(claim, lambda name: name != "name")
    for container in patch.get("containers", []) + patch.get("initContainers", []):
        for variable in container.get("env", []):
            retaining(variable, lambda name: name in ("value", "valueFrom"))
            if "valueFrom" in variable:
                retaining(variable["valueFrom"], lambda _: True)
    if "serviceAccountName" in patch and "serviceAccountName" in base:
        patch["serviceAccount"] = patch["serviceAccountName"]  # the field's old name, which the server stores beside it
    return patch


class Server:
    """PodTemplates, whose spec can be any Pod's; an open connection per thread."""

    def __init__(self, rest):
        self._rest = rest
        self._path = f"/api/v1/namespaces/{rest.namespace}/podtemplates"
        self._local = threading.local()

    def store(self, name, spec):
        answer = self._send("POST", self._path, template(name, spec), "application/json")
        assert answer[0] == 201, answer[1]

    def defaulted(self, spec):
        """Returns (status, spec or message) as it would be stored."""
        return self._send("POST", f"{self._path}?dryRun=All&fieldValidation=Strict", template("new", spec), "application/json")

    def patched(self, name, patch):
        return self._send("PATCH", f"{self._path}/{name}?dryRun=All", {"template": {"spec": patch}},
                          "application/strategic-merge-patch+json")

    def _send(self, method, path, body, content_type):
        if not hasattr(self._local, "connection"):
            self._local.connection = self._rest.connection()
        self._local.connection.request(method, path, json.dumps(body), {"Content-Type": content_type})
        response = self._local.connection.getresponse()
        answer = json.loads(response.read())
        return response.status, answer["template"]["spec"] if response.status < 300 else answer.get("message")


def template(name, spec):
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": spec}}


def test_random_patches_merge_as_the_api_server_merges_them(rest):
    server = Server(rest)
    print(f"seed {SEED}, {PATCHES} patches of each base; others: SIGNALBOX_SEED=n, SIGNALBOX_PATCHES=n")
    pairs = Pairs(SEED)
    bases = [pairs.base() for _ in range(BASES)]
    cases = [(number, pairs.patch()) for number in range(BASES) for _ in range(PATCHES)]
    merged = merge_lines(lines=[[bases[number], patch] for number, patch in cases])

    def compare(case):
        (number, patch), ours = case
        status, patched = server.patched(f"base-{number}", for_the_server(copy.deepcopy(patch), bases[number]))
        if "error" in ours:
            return "refused" if status >= 400 else {"patch": patch, "base": bases[number], "ours": ours, "server": patched}
        new_status, ours_defaulted = server.defaulted(ours)
        if status < 300 and new_status < 300 and ours_defaulted == patched:
            return "equal"
        if status >= 400 and new_status >= 400:
            return "refused"
        return {"base": bases[number], "patch": patch, "ours": [new_status, ours_defaulted], "server": [status, patched]}

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda base: server.store(f"base-{base[0]}", base[1]), enumerate(bases)))
        outcomes = list(pool.map(compare, zip(cases, merged)))
    different = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    print(f"{outcomes.count('equal')} equal, {outcomes.count('refused')} refused by both, {len(different)} different")
    assert not different, json.dumps(different[0], indent=1)
    assert outcomes.count("equal") >= 0.92 * len(outcomes)
