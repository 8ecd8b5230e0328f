"""A real Prometheus scrapes the programs while TrainJobs have every outcome: exported metrics match docs/operations.md, every alert can
be evaluated, every panel of the dashboard has data, and the log has the story of each job."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

import progress_deployment
from deployment import Signalbox, remove_webhooks
from paths import ROOT
from prometheus import COMPONENT, Prometheus, alerts
from rest import Rest, wait_for
from shift import prepare, shift

sys.path += [str(ROOT / "tests" / "guards"), str(ROOT / "scripts" / "lib")]

from metrics import documented  # noqa: E402
from panels import draw_used, shown  # noqa: E402

NAMESPACE = "shift"
DASHBOARD = json.loads((COMPONENT / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]


@pytest.fixture(scope="module")
def installed(cluster):
    """Both programs and the server of progress, as the attribute `progress`, with fresh metrics."""
    binaries = os.environ["SIGNALBOX_BIN_DIR"]
    with Signalbox(cluster, binaries) as signalbox, progress_deployment.running(cluster, binaries) as signalbox.progress:
        signalbox.restart_reconciler(progress_deployment.GATE)
        yield signalbox
        remove_webhooks(cluster)


@pytest.fixture(scope="module")
def observed(installed, cluster):
    """Prometheus after a shift, with `uids` of the shift's jobs and the times of its `start` and `end`."""
    rest = Rest(cluster.kubeconfig, NAMESPACE)
    rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    targets = {f"signalbox-{name}": getattr(installed, name).port_of("admin") for name in ("webhook", "reconciler", "progress")}
    with Prometheus(cluster.directory / "prometheus", targets) as prometheus:
        prometheus.start = time.time()
        prepare(rest)
        prometheus.uids = shift(rest, progress=installed.progress)
        wait_for("the last scrape", lambda: prometheus.query('sum(signalbox_ttl_lateness_seconds_count) > 0'))
        time.sleep(2)  # two more scrapes, which rates need
        prometheus.end = time.time()
        yield prometheus
    rest.delete("namespaces", NAMESPACE)


def families(program):
    """Returns {name: (type, labels)} of a program's metrics."""
    text = program.admin("/metrics")[1]
    kinds = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    found = {name: (kind, set()) for name, kind in kinds.items()}
    for name, labels in re.findall(r"^(\w+)\{([^}]*)\} ", text, re.MULTILINE):
        family = name if name in kinds else re.sub(r"_(bucket|sum|count)$", "", name)
        found[family][1].update(set(re.findall(r'(\w+)="', labels)) - {"le"})
    helped = set(re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE))
    assert helped == kinds.keys(), "each has a help text"
    return found


@pytest.mark.parametrize("program", ["webhook", "reconciler", "progress"])
def test_a_program_exports_what_is_documented_with_type_and_labels(observed, installed, program):
    found = families(getattr(installed, program))
    wanted = {name: (kind, labels) for name, (kind, labels, programs) in documented().items() if programs in ("both", program)}
    if program == "progress":
        # Of the webhook it has those of connections, of HTTP and of the certificate, and of both all but those of watches and of limits.
        of_server = re.compile("signalbox_(connections|tls|http)_?")
        wanted |= {name: (kind, labels) for name, (kind, labels, programs) in documented().items()
                   if programs == "webhook" and of_server.match(name)}
        wanted = {name: value for name, value in wanted.items() if not name.startswith(("signalbox_watch_", "signalbox_clock_", "signalbox_progress_job_"))}
    assert found == wanted


@pytest.mark.parametrize("program", ["webhook", "reconciler"])
def test_a_program_exports_the_version_that_it_prints(observed, program):
    binary = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / f"signalbox-{program}"
    printed = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    [(labels, value)] = observed.query(f'signalbox_build_info{{job="signalbox-{program}"}}')
    assert (labels["version"], value) == (printed, 1)


def test_prometheus_scrapes_them_without_an_error(observed):
    targets = observed.ask("targets", state="active")["activeTargets"]
    assert {target["labels"]["job"]: (target["health"], target["lastError"]) for target in targets} == {
        "signalbox-webhook": ("up", ""), "signalbox-reconciler": ("up", ""), "signalbox-progress": ("up", "")}


def test_counters_match_the_jobs_of_the_shift(observed):
    def values(expression, label):
        return {metric.get(label): value for metric, value in observed.query(expression)}
    assert values("signalbox_train_jobs_ended_total", "end") == {"complete": 1, "failed": 1, "deadline": 1, "unsupported_runtime": 0,
                                                                  "progress_deadline": 0}
    assert values("signalbox_train_jobs", "state") == {
        "pending": 0, "blocked": 1, "running": 1, "suspended": 1, "complete": 1, "failed": 1, "elsewhere": 0}
    # The blocked job has no JobSet.
    assert values("signalbox_time_to_job_set_seconds_count", "") == {None: 5}
    assert values("signalbox_time_to_terminal_seconds_count", "") == {None: 2}
    assert values("signalbox_deadline_lateness_seconds_count", "") == {None: 1}
    assert values("signalbox_ttl_lateness_seconds_count", "") == {None: 1}
    assert values("signalbox_admission_rejections_total", "rule") == {"runtime_ref": 1} or \
        values("signalbox_admission_rejections_total", "rule") == {"runtime_exists": 1}
    assert values("signalbox_admission_warnings_total", "rule") == {"runtime_deprecated": 1, "deprecated_runtime_used": 1}
    assert values('signalbox_cache_objects{resource="trainjobs.trainer.kubeflow.org"}', "") == {None: 5}
    assert values("signalbox_leader", "") == {None: 1}
    assert values("signalbox_reconciles_total", "result")["exception"] == 0
    for reason in ("deadline", "ttl", "failure"):
        assert values("signalbox_requeues_total", "reason")[reason] > 0


@pytest.mark.parametrize("name", alerts())
def test_an_alert_is_evaluated_without_an_error(observed, name):
    rules = [rule for group in observed.ask("rules", type="alert")["groups"] for rule in group["rules"] if rule["name"] == name]
    assert [(rule["health"], rule.get("lastError", "")) for rule in rules] == [("ok", "")]


def test_only_the_alert_for_the_blocked_job_is_active(observed):
    active = {alert["labels"]["alertname"] for alert in observed.ask("alerts")["alerts"]}
    assert active == {"SignalboxTrainJobsBlocked"}


@pytest.mark.parametrize("title, expression", TARGETS)
def test_a_query_of_the_dashboard_returns_data(observed, title, expression):
    series = observed.range(expression.replace("$__rate_interval", "15s"), observed.start, observed.end)
    values = [value for _, points in series for _, value in points if value == value]
    assert values, f"{title}: {expression}"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_legends_of_the_dashboard_name_existing_labels(observed, panel):
    for target in panel["targets"]:
        labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        series = observed.range(target["expr"].replace("$__rate_interval", "15s"), observed.start, observed.end)
        assert all(labels <= metric.keys() for metric, _ in series)
        assert len({tuple(metric[label] for label in sorted(labels)) for metric, _ in series}) == len(series), "one name for each line"


def test_each_panel_that_documents_show_has_its_picture(observed, tmp_path):
    draw_used(observed, observed.start, observed.end, tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == shown() and all(path.stat().st_size > 4000 for path in tmp_path.iterdir())
    kept = {path.name for path in (ROOT / "docs" / "pictures").glob("*.png")}
    assert made == kept, "run scripts/pictures dashboard"


def story(program, uid):
    """Returns the log lines with a TrainJob's UID, in order."""
    lines = [json.loads(line) for line in program.text().splitlines()]
    return [line for line in lines if line.get("uid") == uid]


STORIES = {
    "complete": ["JobSet created", "JobsCreationSucceeded", "AllJobsCompleted"],
    "failed": ["JobSet created", "JobsCreationSucceeded", "FailedJobs"],
    "late": ["JobSet created", "JobsCreationSucceeded", "DeadlineExceeded", "JobSetDeleted", "TTLExpired", "TrainJob is gone"],
    "suspended": ["Suspended", "JobSet created", "JobsCreationSucceeded"],
    "blocked": ["JobsCreationFailed"],
}


@pytest.mark.parametrize("fate", STORIES)
def test_one_jobs_story_is_read_by_its_uid(observed, installed, fate):
    lines = story(installed.reconciler, observed.uids[fate])
    assert [line["msg"] for line in lines] == STORIES[fate]
    assert {line["trainjob"] for line in lines} == {f"{NAMESPACE}/{fate}-0"}
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert lines[-1]["level"] == ("warn" if fate in ("failed", "blocked") else "info")


def test_every_line_is_one_json_object_and_names_the_uid_of_the_job_it_names(observed, installed):
    for program in (installed.reconciler, installed.webhook):
        for text in program.text().splitlines():
            line = json.loads(text)
            assert {"time", "level", "msg"} <= line.keys()
            assert ("trainjob" in line) == ("uid" in line), text
            assert not line.get("uid") == "", text
