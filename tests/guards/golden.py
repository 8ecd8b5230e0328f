"""Checks the golden cases: want.json has Signalbox's results; upstream.json has Kubeflow Trainer's where they differ, with the
behaviours that the difference is one of (guard.reference)."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import golden  # noqa: E402

FILES = {"build": {"trainjob.yaml", "runtime.yaml", "objects.yaml", "config.yaml", "want.json", "upstream.json"},
         "admission": {"admission.yaml", "want.json", "upstream.json"}}


def problems_of(case):
    yield from (f"{name} is no file of a case" for name in sorted({path.name for path in case.iterdir()} - FILES[case.parent.name]))
    want, upstream = golden.load(case / "want.json"), golden.load(case / "upstream.json")
    if want is None:
        yield "lacks want.json (SIGNALBOX_WRITE_GOLDEN=1 writes it)"
        return
    if golden.differences(case, want, want):
        yield "want.json differs from itself: the comparison is wrong"
    if upstream is None:
        return
    if not upstream.pop("behaviours", []):
        yield "upstream.json needs behaviours (tests/data/behaviours.yaml)"
    if not upstream or not golden.differences(case, upstream, want):
        yield "upstream.json does not differ from want.json: remove it"


def main():
    cases = [case for kind in golden.KINDS for case in golden.cases(kind)]
    problems = [f"{case.relative_to(ROOT)}: {problem}" for case in cases for problem in problems_of(case)]
    if sum((case / "upstream.json").exists() for case in cases) < 50:
        problems.append("the cases that differ were not found")
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
