"""Tests the alerts with promtool, and their links to the runbook."""

import json
import re
import sys

import pytest
import yaml

from paths import ROOT
from prometheus import COMPONENT, alerts, promtool, write_rules

sys.path.append(str(ROOT / "scripts" / "lib"))

from incidents import INCIDENTS  # noqa: E402

CASES = yaml.safe_load((ROOT / "tests" / "data" / "alerts.yaml").read_text())
RUNBOOK = ROOT / "docs" / "operations.md"


def anchors():
    """Returns the anchors that renderers of Markdown make from headings."""
    headings = re.findall(r"^#+ +(.+)$", RUNBOOK.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_promtool_accepts_the_rules(tmp_path):
    assert f"SUCCESS: {len(alerts())} rules found" in promtool("check", "rules", write_rules(tmp_path / "rules.yaml"))


def test_every_alert_has_a_case_and_every_case_an_alert():
    assert CASES.keys() == alerts().keys()
    assert all(case.keys() == {"fires", "silent"} for case in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_an_alert_fires_when_it_should_and_only_then(tmp_path, name):
    rule = alerts()[name]
    rules = write_rules(tmp_path / "rules.yaml")
    tests = []
    for kind in ("fires", "silent"):
        case = CASES[name][kind]
        fired = [{"exp_labels": {"severity": rule["labels"]["severity"], **case.get("labels", {})},
                  "exp_annotations": {"summary": case.get("says"), "runbook_url": rule["annotations"]["runbook_url"]}}]
        tests.append({
            "interval": case.get("interval", "1m"),
            "input_series": [{"series": series, "values": values} for series, values in case["series"].items()],
            "alert_rule_test": [{"eval_time": f"{case.get('at', 40)}m", "alertname": name,
                                 "exp_alerts": fired if kind == "fires" else []}]})
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}))
    promtool("test", "rules", file)


def test_an_outage_of_the_api_server_pages_with_its_cause_and_with_nothing_else(tmp_path):
    """Every 30 s a sample; the outage begins after ten minutes. The lease is lost 15 s later."""
    away = {
        'signalbox_ready{job="signalbox-reconciler",pod="r-1"}': "1x80",
        'signalbox_leader{job="signalbox-reconciler",pod="r-1"}': "1x20 0x60",
        'signalbox_train_jobs{job="signalbox-reconciler",pod="r-1",state="running"}': "5x80",
    }
    for job, resource in (("reconciler", "trainjobs"), ("webhook", "trainingruntimes")):
        away |= {
            f'up{{job="signalbox-{job}",pod="{job}-1"}}': "1x80",
            f'signalbox_watch_working{{job="signalbox-{job}",pod="{job}-1",resource="{resource}.trainer.kubeflow.org"}}': "1x20 0x60",
            f'signalbox_api_requests_total{{job="signalbox-{job}",pod="{job}-1",verb="GET",resource="{resource}",code="200"}}': "0+15x20 300x60",
            # The series begins with its first event.
            f'signalbox_api_requests_total{{job="signalbox-{job}",pod="{job}-1",verb="GET",resource="{resource}",code="0"}}': "_x20 1+8x60"}
    pages = [name for name, rule in alerts().items() if rule["labels"]["severity"] == "critical"]
    cause = "SignalboxAPIServerUnreachable"
    rule = alerts()[cause]
    fired = [{"exp_labels": {"severity": "critical", "job": f"signalbox-{job}"},
              "exp_annotations": {"summary": rule["annotations"]["summary"].replace("{{ $labels.job }}", f"signalbox-{job}"),
                                  "runbook_url": rule["annotations"]["runbook_url"]}} for job in ("reconciler", "webhook")]
    file, rules = tmp_path / "test.yaml", write_rules(tmp_path / "rules.yaml")
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "evaluation_interval": "30s", "tests": [{
        "interval": "30s", "input_series": [{"series": name, "values": values} for name, values in away.items()],
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": fired if name == cause and at != "10m" else []}
                            for at in ("10m", "12m", "25m", "40m") for name in pages]}]}))
    promtool("test", "rules", file)


@pytest.mark.parametrize("program, usual", [("webhook", 354), ("reconciler", 0)])
def test_the_memory_alert_fires_below_the_limit_and_above_the_documented_bound(program, usual):
    """usual: the bound in MB, by the formula of docs/webhook-limits.md."""
    rule = alerts()[f"Signalbox{program.title()}MemoryHigh"]
    deployment = yaml.safe_load((ROOT / "manifests" / "base" / f"{program}-deployment.yaml").read_text())
    container, = deployment["spec"]["template"]["spec"]["containers"]
    limit = int(container["resources"]["limits"]["memory"].removesuffix("Mi"))
    threshold = int(re.search(rf'{{job="signalbox-{program}"}} > (\d+) \* 1024 \* 1024$', rule["expr"])[1])
    assert usual * 10**6 < threshold << 20 < 0.95 * (limit << 20)
    assert f"its limit is {limit} MiB" in rule["annotations"]["summary"]


def test_the_panel_of_memory_has_the_limits_of_the_manifests():
    limits = {}
    for file in ("base/webhook-deployment.yaml", "base/reconciler-deployment.yaml", "components/progress/deployment.yaml"):
        container, = yaml.safe_load((ROOT / "manifests" / file).read_text())["spec"]["template"]["spec"]["containers"]
        limits[container["name"]] = container["resources"]["limits"]["memory"]
    panel, = [each for each in json.loads((COMPONENT / "dashboard.json").read_text())["panels"] if each["title"] == "Memory"]
    said = dict(re.findall(r"(\w+) (\d+ MiB)", panel["description"]))
    assert said == {name.removeprefix("signalbox-"): limit.replace("Mi", " MiB") for name, limit in limits.items()}


@pytest.mark.parametrize("name", CASES)
def test_an_alert_has_a_severity_and_an_entry_in_the_runbook(name):
    rule = alerts()[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    path, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert ROOT / path == RUNBOOK and anchor == name.lower()
    assert anchors().count(anchor) == 1


@pytest.mark.parametrize("name", CASES)
def test_an_entry_of_the_runbook_begins_with_a_command(name):
    entry = re.search(rf"(?ms)^### {name}\n\n(.*?)(?=^### |\Z)", RUNBOOK.read_text())[1]
    assert re.match(r"```\n(kubectl|for) ", entry)


@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_has_its_picture_of_existing_panels_in_the_runbook(name):
    titles = {panel["title"] for panel in json.loads((COMPONENT / "dashboard.json").read_text())["panels"]}
    assert set(INCIDENTS[name].panels) <= titles
    entries = RUNBOOK.read_text().partition("\n## Alerts\n")[2]
    assert f"(pictures/incidents/{name}.png)" in entries
    assert (RUNBOOK.parent / "pictures" / "incidents" / f"{name}.png").stat().st_size > 10_000, f"run scripts/pictures {name}"


def test_the_runbook_has_no_other_alerts():
    named = re.findall(r"^#+ +(Signalbox\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert named == list(alerts()), "in the order of the rules"


def test_the_monitor_sets_the_job_names_of_the_alerts():
    monitor = yaml.safe_load((COMPONENT / "pod-monitor.yaml").read_text())["spec"]
    programs = monitor["selector"]["matchExpressions"][0]["values"]
    for program in programs:
        name = program.removeprefix("signalbox-")
        file = "components/progress/deployment.yaml" if name == "progress" else f"base/{name}-deployment.yaml"
        deployment = yaml.safe_load((ROOT / "manifests" / file).read_text())
        template = deployment["spec"]["template"]
        assert template["metadata"]["labels"][monitor["jobLabel"]] == program
        ports = [port["name"] for port in template["spec"]["containers"][0]["ports"]]
        assert [endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]] == ["admin"] and "admin" in ports
    named = set(re.findall(r'job="(signalbox-\w+)"', (COMPONENT / "alerts.yaml").read_text()))
    assert named <= set(programs)
