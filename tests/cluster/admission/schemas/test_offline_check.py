"""`kubectl trainjob check` gives the same results as a live API server with the CRDs and both webhooks: every row of
tests/data/rows is sent to both. Two things are not compared: the name of the webhook, and the order of the schema's causes, as an
API server iterates over maps."""

import contextlib
import copy
import json
import os
import pathlib
import re
import subprocess

import pytest

from rest import ApiError, path_of, wait_for
from schema_server import ROOT, WebhookAlone
from rows import tables

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
GATES = "--feature-gates=TrainJobStatus=true,TrainJobRunPolicy=true,TrainJobFailurePolicy=true," \
    "TrainJobDynamicResourceAllocation=true,TrainJobEdits=true"  # the rows need them
PATIENCE = 2  # seconds
SPEAKER = re.compile(r'^admission webhook "[^"]+" denied the request: ')
WARNING = re.compile(r'299 \S+ ("(?:[^"\\]|\\.)*")')
CASES = [pytest.param(table, row, id=f"{table.name}: {row['name']}")
         for table in tables() if table.target == "object" for row in table.rows]


@pytest.fixture(scope="module")
def live(plane, rest, installed):
    with WebhookAlone(plane, GATES):
        server = Live(rest)
        yield server
        server.use(None)


class Live:
    """The API server, and its verdicts on requests that change nothing."""

    def __init__(self, rest):
        self.rest = rest
        self._runtime = None
        self._connection = rest.connection()

    def use(self, runtime):
        """Makes it the only runtime. The webhook's watch may lag behind."""
        if runtime == self._runtime:
            return
        if self._runtime:
            self.rest.delete("clustertrainingruntimes", self._runtime["metadata"]["name"])
        self._runtime = None
        if runtime:
            self.rest.create(runtime)
        self._runtime = runtime

    def judge(self, obj, old=None):
        meta = obj["metadata"]
        path = path_of(obj["kind"].lower() + "s", meta.get("namespace", "default"), old and meta["name"])
        self._connection.request("PUT" if old else "POST", path + "?dryRun=All&fieldValidation=Strict", json.dumps(obj),
                                 {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        warnings = [json.loads(text) for header in answer.headers.get_all("Warning", []) for text in WARNING.findall(header)]
        return verdict(answer.status, json.loads(answer.read()), warnings)


def verdict(code, status, warnings):
    if code < 300:
        return {"allowed": True, "warnings": sorted(warnings)}
    causes = sorted((c.get("field", ""), c["reason"], c["message"]) for c in (status.get("details") or {}).get("causes", []))
    words = sorted(re.split(r", |: \[|\]$", SPEAKER.sub("", status["message"])))
    return {"allowed": False, "code": code, "reason": status["reason"], "message": words, "causes": causes,
            "warnings": sorted(warnings)}


def check(directory, obj, old=None, surroundings=()):
    def write(name, *objects):
        path = directory / name
        path.write_text("\n---\n".join(json.dumps(each) for each in objects))
        return path
    command = [PROGRAM, "check", GATES, "-o", "json", "-f", write("object.json", obj)]
    if surroundings:
        command += ["-f", write("surroundings.yaml", *surroundings)]
    if old:
        command += ["--before", write("before.json", old)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = next(each for each in json.loads(run.stdout) if each["file"].endswith("object.json"))
    assert run.returncode == 0 or not all(each["allowed"] for each in json.loads(run.stdout))
    return verdict(found.get("code", 200), {**found, "details": found}, found.get("warnings", []))


def opted_out(runtime):
    """Returns the runtime without validation by the webhook, because it only serves as a reference of TrainJobs."""
    if runtime:
        runtime["metadata"].setdefault("labels", {})["trainer.kubeflow.org/webhook-validation"] = "disabled"
    return runtime


def stored_before(rest, table, row):
    """Returns the old object of an update."""
    old = rest.create(table.before(row))
    if "between" in row:
        old = rest.replace(old["kind"].lower() + "s", table.changed(old, row["between"]))
    if status := table.status(row):
        path = path_of(old["kind"].lower() + "s", old["metadata"].get("namespace", ""), old["metadata"]["name"])
        old = rest.request("PUT", path + "/status", {**old, "status": status})
    return old


def job_set_of(rest, job, counts):
    owner = {key: job[key] for key in ("apiVersion", "kind")} | {"name": job["metadata"]["name"], "uid": job["metadata"]["uid"],
                                                                  "controller": True}
    rest.create({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {}, "metadata": {
        "name": job["metadata"]["name"], "namespace": "default", "ownerReferences": [owner]}})
    zero = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
    status = {"status": {"replicatedJobsStatus": [{**zero, **count} for count in counts]}}
    return rest.patch("jobsets", job["metadata"]["name"], status, subresource="status")


@pytest.mark.parametrize("table, row", CASES)
def test_row(live, tmp_path, table, row):
    runtime = opted_out(table.runtime(row))
    try:
        live.use(runtime)
    except ApiError:
        # A runtime that the schema rejects has no TrainJob.
        agree(lambda: live.judge(runtime), check(tmp_path, runtime))
        return
    surroundings = [runtime] if runtime else []
    if "before" not in row:
        obj = table.changed(table.base, row)
        said = check(tmp_path, obj, surroundings=surroundings)
        agree(lambda: live.judge(obj), said)
        return
    try:
        old = wait_for("the old object to be stored", lambda: unless_behind(lambda: stored_before(live.rest, table, row)),
                       interval=0.02)
    except ApiError:
        # The rows are about the schema. An object that the webhook denies cannot be updated.
        old = table.before(row)
        agree(lambda: live.judge(old), check(tmp_path, old, surroundings=surroundings))
        return
    meta = old["metadata"]
    try:
        if "jobSet" in row:
            surroundings.append(job_set_of(live.rest, old, row["jobSet"]))
        obj = table.changed(copy.deepcopy(old), row)
        said = check(tmp_path, obj, old, surroundings)
        agree(lambda: live.judge(obj, old), said)
    finally:
        live.rest.delete("jobsets", meta["name"])
        live.rest.delete(old["kind"].lower() + "s", meta["name"])


def agree(judge, said):
    """Compares both results. The webhook's watch may show an older runtime for a moment."""
    with contextlib.suppress(AssertionError):
        wait_for("both to say the same", lambda: judge() == said, timeout=PATIENCE, interval=0.02)
    assert json.dumps(said, indent=1) == json.dumps(judge(), indent=1)


def unless_behind(act):
    try:
        return act()
    except ApiError as error:
        if "not found: it must be created before" in str(error):
            return None
        raise
