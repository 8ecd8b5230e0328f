"""The table in docs/comparison.md of what tests/data shows: the entries of behaviours.yaml, each with the cases that name it."""

import collections
import pathlib

import golden
import yaml

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "comparison.md"
BEGIN, END = "<!-- made by scripts/generate-reference from tests/data/behaviours.yaml -->\n", "<!-- until here -->\n"
BEHAVIOURS, DIFFERENCES = golden.DATA / "behaviours.yaml", golden.DATA / "crds" / "differences.yaml"
KEYS = {"about", "original", "ours", "why"}
HEAD = "| | Kubeflow Trainer v2 | Signalbox | Why | Shown by |\n|---|---|---|---|---|\n"
# Each case that both deny is one of this behaviour.
DENIED = "denied-as-invalid"


def instances():
    """Yields (behaviour, path) for each difference in the data. A difference that names no behaviour has None."""
    for case in (case for kind in golden.KINDS for case in golden.cases(kind)):
        want, upstream = golden.load(case / "want.json"), golden.load(case / "upstream.json")
        path = case.relative_to(golden.DATA.parents[1]).as_posix()
        if upstream is not None:
            yield from ((behaviour, path) for behaviour in upstream.get("behaviours") or [None])
        if want and not want.get("allowed", True) and not (upstream or want).get("allowed", True):
            yield DENIED, path
    for difference in yaml.safe_load(DIFFERENCES.read_text()):
        if not difference.get("vacuous"):
            yield difference.get("behaviour"), DIFFERENCES.relative_to(golden.DATA.parents[1]).as_posix()


def problems(behaviours, shown):
    """Yields what keeps the table from being complete, for `shown`: {behaviour: paths of its instances}."""
    for name in sorted(shown.keys() - behaviours.keys(), key=str):
        yield f"{shown[name][0]}: " + (f"{BEHAVIOURS.name} has no behaviour {name!r}" if name else "a difference without a behaviour")
    for name, row in behaviours.items():
        if name not in shown:
            yield f"{BEHAVIOURS.name}: no case is one of {name}"
        if not KEYS <= row.keys() <= KEYS | {"also"} or not all(isinstance(row[key], str) and row[key] for key in KEYS):
            yield f"{BEHAVIOURS.name}: {name} needs {sorted(KEYS)} as texts, and may have `also`, but nothing else"


def evidence(paths, also):
    """Returns the last cell: the first case, how many others there are, and the other files."""
    cases = [path for path in paths if not path.endswith(".yaml")]
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    files = dict.fromkeys([path for path in paths if path not in cases] + also)
    return ", ".join([f"`{case}`{more}" for case in cases[:1]] + [f"`{file}`" for file in files])


def page():
    """Returns docs/comparison.md with its table as the data have it."""
    behaviours, shown = yaml.safe_load(BEHAVIOURS.read_text()), collections.defaultdict(list)
    for behaviour, path in instances():
        shown[behaviour].append(path)
    if found := list(problems(behaviours, shown)):
        raise SystemExit("\n".join(found))
    cells = ([row["about"], row["original"], row["ours"], row["why"], evidence(shown[name], row.get("also", []))]
             for name, row in behaviours.items())
    rows = "".join("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |\n" for row in cells)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{PAGE.name} lacks the comments around its table")
    return before + BEGIN + "\n" + HEAD + rows + "\n" + END + after
