"""Checks that the table of docs/operations.md has exactly the exported metrics, and that each panel of the dashboard explains its lines.
tests/cluster/operations/manifests/test_metrics.py compares it with the running programs."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = re.compile(r'"((?:signalbox|process)_[a-z_]+)"')
# Metrics without a base unit in Prometheus' sense: they count things.
UNITLESS = {"signalbox_ready", "signalbox_leader", "signalbox_clock_uncertain", "signalbox_watch_working", "signalbox_train_jobs",
            "signalbox_train_jobs_expiring", "signalbox_train_jobs_stalled", "signalbox_train_jobs_at_risk", "signalbox_queue_depth",
            "signalbox_queue_timers", "signalbox_reconciles_running", "signalbox_cache_objects", "signalbox_runtimes",
            "signalbox_connections", "signalbox_admission_in_flight", "signalbox_progress_jobs", "signalbox_progress_tokens",
            "signalbox_progress_job_percent", "process_open_fds"}


def exported():
    return {name for folder in ("apps", "libs") for path in (ROOT / folder).rglob("*.cpp") for name in NAME.findall(path.read_text())}


def documented():
    """Returns {name: (type, labels, programs)}"""
    rows = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|([^|]*)\| (\w+) \|", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), programs) for name, kind, labels, programs in rows}


def unexplained_panels():
    """Returns the titles of panels without a description."""
    dashboard = json.loads((ROOT / "manifests" / "components" / "prometheus" / "dashboard.json").read_text())
    return [panel["title"] for panel in dashboard["panels"] if panel["type"] != "row" and not panel.get("description", "").endswith(".")]


def offences():
    yield from (f"the panel {title!r} has no description of its lines" for title in unexplained_panels())
    table = documented()
    names = exported()
    yield from (f"docs/operations.md lacks {name}" for name in sorted(names - table.keys()))
    yield from (f"docs/operations.md has {name}, which no program exports" for name in sorted(table.keys() - names))
    for name, (kind, _, programs) in table.items():
        unit = name in UNITLESS or name.endswith(("_seconds", "_bytes", "_total", "_info"))
        if not unit or (kind == "counter") != name.endswith("_total"):
            yield f"{name}: counters end with _total, others with their unit"
        if programs not in ("both", "reconciler", "webhook", "progress"):
            yield f"{name}: the table names no program"


if __name__ == "__main__":
    found = list(offences())
    print("\n".join(found) or "every metric is documented")
    sys.exit(1 if found else 0)
