"""Draws panels of the dashboard from the data of a Prometheus."""

import json
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bed"))

os.environ.setdefault("MPLCONFIGDIR", tempfile.gettempdir())
import matplotlib  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from prometheus import COMPONENT  # noqa: E402

RATES_OVER = "45s"  # so that no shift of scripts/lib/dashboard_pictures.py falls between two ranges


def panels():
    """Returns the panels of the dashboard, in order."""
    return [panel for panel in json.loads((COMPONENT / "dashboard.json").read_text())["panels"] if panel["type"] != "row"]


def unit_of(panel, highest):
    """Returns the divisor and the unit that suit the highest value, as Grafana chooses them."""
    sizes = {"s": ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "s"), (1e-3, "ms"), (1e-6, "µs")),
             "bytes": ((2 ** 20, "MiB"),), "percentunit": ((0.01, "%"),), "ops": ((1, "per second"),), "reqps": ((1, "per second"),)}
    fitting = sizes.get(panel["fieldConfig"]["defaults"]["unit"], ((1, ""),))
    if highest == 0:
        return next((pair for pair in fitting if pair[0] == 1), fitting[-1])
    return next((pair for pair in fitting if highest >= pair[0]), fitting[-1])


def name_of(panel):
    return re.sub(r"[^a-z0-9]+", "-", panel["title"].lower()).strip("-") + ".png"


def shown():
    """Returns the file names of the panels that documents show."""
    return set(re.findall(r"\(pictures/([\w-]+\.png)\)", "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))))


def draw_used(prometheus, start, end, out):
    """Draws the panels that documents show."""
    wanted = shown()
    for panel in panels():
        if name_of(panel) in wanted:
            draw(panel, prometheus, start, end, out / name_of(panel))


def lines_of(panel, prometheus, start, end, rates_over=RATES_OVER):
    """Returns [(legend, [(seconds since the start, value)])]. A value is NaN if there was nothing to measure."""
    step = max(1, round((end - start) / 200))
    for target in panel["targets"]:
        for labels, points in prometheus.range(target["expr"].replace("$__rate_interval", rates_over), start, end, step):
            legend = re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), target["legendFormat"])
            yield legend, [(at - start, value) for at, value in points]


def draw(panel, prometheus, start, end, path):
    figure, axes = pyplot.subplots(figsize=(6, 3.4), dpi=90, layout="constrained")
    fill(axes, panel, prometheus, start, end)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


def draw_incident(title, chosen, prometheus, times, path):
    """Draws some panels into one picture. times: the start, the times between which the incident lasted, and the end."""
    start, began, ended, end = times
    figure, rows = pyplot.subplots(2, (len(chosen) + 1) // 2, figsize=(12, 6.8), dpi=80, layout="constrained", squeeze=False)
    figure.suptitle(f"{title} (shaded)", fontsize=13)
    for axes, panel in zip(rows.flat, chosen):
        fill(axes, panel, prometheus, start, end, rates_over="15s")
        axes.axvspan((began - start) / 60, (ended - start) / 60, color="tab:red", alpha=0.12, linewidth=0)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


def fill(axes, panel, prometheus, start, end, rates_over=RATES_OVER):
    drawn = sorted(lines_of(panel, prometheus, start, end, rates_over), key=lambda line: line[0])
    values = [value for _, points in drawn for _, value in points if value == value]
    highest = max(values, default=0)
    size, unit = unit_of(panel, highest)
    for number, (legend, points) in enumerate(drawn):
        # Line styles differ so that both of two equal lines are visible.
        style = ("-", "--", "-.", ":")[number % 4]
        axes.plot([at / 60 for at, _ in points], [value / size for _, value in points], label=legend, linewidth=1.4, linestyle=style)
    axes.set_title(panel["title"], loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel("minutes", fontsize=8)
    axes.set_ylabel(unit, fontsize=8)
    axes.set_ylim(0, 1.15 * highest / size or 1)
    axes.set_xlim(0, (end - start) / 60)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if drawn:
        columns = 1 if max(len(legend) for legend, _ in drawn) > 28 else 3
        axes.legend(loc="upper left", bbox_to_anchor=(-0.08, -0.17), ncols=columns, fontsize=7, frameon=False)
