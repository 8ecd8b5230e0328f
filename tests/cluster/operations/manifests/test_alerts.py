"""Tests the alerts with promtool, and their links to the runbook."""

import re

import pytest
import yaml

from paths import ROOT
from prometheus import COMPONENT, alerts, promtool, write_rules

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


@pytest.mark.parametrize("name", CASES)
def test_an_alert_has_a_severity_and_an_entry_in_the_runbook(name):
    rule = alerts()[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    path, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert ROOT / path == RUNBOOK and anchor == name.lower()
    assert anchors().count(anchor) == 1


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
