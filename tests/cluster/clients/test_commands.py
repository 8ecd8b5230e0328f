"""The commands of `kubectl trainjob` on the real control plane, found by kubectl, with the roles of plain users."""

import json
import re
import xml.etree.ElementTree

import documents
from jobs import runtime, train_job
from rest import true_conditions, wait_for


def succeeds(done):
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def rows(done):
    return {row[0]: row for row in (re.split(r" {3,}", line.strip()) for line in succeeds(done).splitlines())}


def test_view_lists_explains_and_follows_jobs_and_changes_none(signalbox, rest, user, tmp_path):
    viewer = user("view")
    rest.create(runtime(ttlSecondsAfterFinished=3600))
    rest.create(train_job("runs", seconds="never", nodes=2, activeDeadlineSeconds=3600))
    rest.create(train_job("held", suspend=True, labels={"team": "vision"}))
    rest.create(train_job("waits", seconds="never", nodes=2, trainer={"command": ["train"], "numNodes": 2, "resourcesPerNode": {
        "limits": {"nvidia.com/gpu": "99"}}}))
    rest.create(train_job("done"))
    assert succeeds(viewer("wait", "done", "--for=complete", "--interval=100ms")).startswith("trainjob.trainer.kubeflow.org/done complete after ")
    succeeds(viewer("wait", "runs", "--for=running", "--interval=100ms"))
    wait_for("all rows", lambda: rows(viewer("list"))["runs"][4] == "2/2" and rows(viewer("list"))["held"][1] == "suspended")
    table = rows(viewer("list"))
    assert {name: row[1] for name, row in table.items()} == {
        "NAME": "STATE", "runs": "running", "held": "suspended", "waits": "waits for its Pods", "done": "complete"}
    hour = re.compile(r"1h|59m\d+s")
    assert hour.fullmatch(table["runs"][7]) and hour.fullmatch(table["done"][8]) and table["waits"][4:6] == ["0/2", "198"]
    assert list(rows(viewer("list", "-l", "team=vision"))) == ["NAME", "held"]
    for selection in (["list", "-o", "json"], ["list", "--runtime=plain-test", "-o", "json"]):
        listed = json.loads(succeeds(viewer(*selection)))
        documents.require_valid(listed, "list")
        assert {row["name"] for row in listed["items"]} == {"runs", "held", "waits", "done"}
    document = json.loads(succeeds(viewer("explain", "waits", "-o", "json")))
    assert "Insufficient nvidia.com/gpu" in document["pods"][0]["problem"] and "unread" not in document
    timeline = succeeds(viewer("timeline", "done", "--svg", str(tmp_path / "done.svg")))
    assert timeline.startswith("TrainJob ") and "running" in timeline and "could not be read" not in timeline
    assert xml.etree.ElementTree.parse(tmp_path / "done.svg").getroot().tag.endswith("svg")
    assert succeeds(viewer("delete", "--ended", "--dry-run")).endswith(", would be deleted\n")

    for refused in (viewer("suspend", "runs"), viewer("delete", "--ended")):
        (line,) = refused.stderr.splitlines()
        assert refused.returncode == 1 and "the role edit is missing: " in line
    everywhere = viewer("list", "-A")
    assert everywhere.returncode == 1 and "the role view is missing in all namespaces: " in everywhere.stderr


def test_edit_suspends_resumes_and_deletes(signalbox, rest, user):
    editor = user("edit")
    rest.create(runtime())
    rest.create(train_job("job", seconds="never"))
    succeeds(editor("wait", "job", "--for=running", "--interval=100ms"))
    assert succeeds(editor("suspend", "--all")) == "trainjob.trainer.kubeflow.org/job suspended\n"
    wait_for("it to be suspended", lambda: rows(editor("list"))["job"][1] == "suspended")
    managers = {entry["manager"] for entry in rest.get("trainjobs", "job")["metadata"]["managedFields"]}
    assert "kubectl-trainjob" in managers
    assert succeeds(editor("resume", "job")) == "trainjob.trainer.kubeflow.org/job resumed\n"
    succeeds(editor("wait", "job", "--for=running", "--interval=100ms"))
    rest.create(train_job("broken", outcome="failed"))
    failed = editor("wait", "broken", "--for=complete", "--interval=100ms")
    assert failed.returncode == 3 and "(FailedJobs): " in failed.stdout
    assert succeeds(editor("delete", "--ended")).startswith("trainjob.trainer.kubeflow.org/broken in ")
    wait_for("its deletion", lambda: rest.get("trainjobs", "broken") is None)
    assert "Failed" not in true_conditions(rest.get("trainjobs", "job"))
