"""What scripts/test chooses and prints, and what scripts/test-long counts and reports."""

import importlib.machinery
import importlib.util

import changes
import gate
import pytest

from paths import ROOT

NAMES = ["unit.merge", "unit.runtime", "unit.webhook_app", "guard.citations", "guard.interface", "threads.net", "fuzz.cost", "model", "turns",
         "programs.cli", "programs.limits", "programs.plugin", "programs.reconciler", "programs.runtimes", "programs.webhook", "cluster.admission",
         "cluster.clients", "cluster.docs", "cluster.manifests", "bed", "bed.bench", "bed.controllers", "bed.instructions", "bed.gate",
         "bed.terminal", "bed.together"]
LOG = """3/9 Testing: cluster.docs
3/9 Test: cluster.docs
Command: "pytest"
Output:
----------------------------------------------------------
..
12.34s call     tests/a.py::test_b[c d]
20.5s setup    tests/a.py::test_b[c d]
2 passed in 33.00s
<end of output>
Test time =  33.20 sec
4/9 Testing: unit.merge
4/9 Test: unit.merge
Command: "merge_tests"
Output:
----------------------------------------------------------
1.234 s: a case
All tests passed
<end of output>
"""


@pytest.mark.parametrize("file, first, others", [
    ("libs/merge/src/json_patch.cpp", "unit.merge", {"unit.runtime", "guard.citations", "model", "turns", "cluster.docs"}),
    ("tests/turns/cases.cpp", "turns", set()),
    ("apps/cli/src/list/rows.cpp", "guard.citations", {"guard.interface", "programs.cli", "programs.plugin", "cluster.docs"}),
    ("apps/webhook/src/main.cpp", "unit.webhook_app", {"programs.cli", "programs.limits", "programs.webhook"}),
    ("apps/reconciler/src/main.cpp", "guard.citations", {"programs.cli", "programs.reconciler"}),
    ("libs/progress/src/report.cpp", "unit.webhook_app", {"programs.cli", "programs.webhook"}),
    ("docs/webhook-limits.md", "unit.webhook_app", {"programs.limits", "cluster.docs"}),
    ("docs/design/admission.md", "unit.runtime", {"guard.citations", "cluster.docs"}),
    ("docs/progress.md", "guard.citations", {"programs.webhook", "cluster.clients"}),
    ("docs/faq.md", "guard.citations", {"cluster.docs"}),
    ("tests/bed/interface.py", "guard.interface", set()),
    ("manifests/runtimes/plain.yaml", "guard.citations", {"programs.cli", "programs.plugin", "programs.runtimes"}),
    ("manifests/base/webhook-deployment.yaml", "unit.webhook_app", {"programs.limits", "cluster.manifests"}),
    ("tests/data/interface.yaml", "unit.runtime", {"guard.interface"}),
    ("scripts/release", "guard.citations", {"cluster.manifests"}),
    ("scripts/release-plugin", "guard.citations", {"programs.plugin"}),
    ("scripts/check-advisories", "guard.citations", {"programs.plugin"}),
    ("scripts/lib/bill_of_materials.py", "guard.citations", {"programs.plugin"}),
    ("scripts/lib/artifacts.py", "guard.citations", {"programs.plugin", "cluster.manifests"}),
    ("scripts/lib/architectures.py", "guard.citations", {"programs.plugin", "cluster.manifests"}),
    ("scripts/images", "guard.citations", {"cluster.manifests"}),
    ("scripts/lib/overlays.py", "guard.citations", {"cluster.manifests"}),
    ("scripts/lib/client-python", "guard.citations", {"cluster.clients"}),
    ("scripts/generate-crds", "guard.citations", {"cluster.admission"}),
    ("CMakeLists.txt", "unit.merge", set(NAMES)),
])
def test_a_change_chooses_the_nearest_tests_first(monkeypatch, file, first, others):
    monkeypatch.setattr(changes, "changed_files", lambda root, revision: [file])
    chosen = changes.tests_for(ROOT, "main", NAMES)
    assert (ROOT / file).exists() and chosen[0] == first and others <= {*chosen}


@pytest.mark.parametrize("file, want", [
    ("bench/support/driver.py", {"guard.citations", "guard.interface", "bed.bench", "bed.controllers", "bed.instructions"}),
    *((f"tests/bed/test_{name}.py", {f"bed.{name}"}) for name in ("bench", "controllers", "gate", "instructions", "terminal", "together")),
])
def test_a_change_of_a_benchmark_or_of_a_test_of_the_bed_chooses_no_more_than_its_tests(monkeypatch, file, want):
    monkeypatch.setattr(changes, "changed_files", lambda root, revision: [file])
    assert {*changes.tests_for(ROOT, "main", NAMES)} == want


def test_a_change_of_a_helper_chooses_the_tests_of_the_bed(monkeypatch):
    monkeypatch.setattr(changes, "changed_files", lambda root, revision: ["tests/bed/terminal.py"])
    assert {name for name in NAMES if name.startswith("bed")} <= {*changes.tests_for(ROOT, "main", NAMES)}


def test_a_part_over_twice_its_budget_is_named_with_its_slowest_tests():
    parts = gate.Parts(0)
    parts.add("cluster.docs", 33, 0.25)
    parts.add("unit.merge", 3, 1)
    lines = parts.table(gate.slowest(LOG), 0.5).splitlines()
    assert "the cores were busy for 50% of the tests' time" in lines
    assert lines[-3:] == ["warning: cluster.docs took 33 s, more than twice its 15 s", "      20.5 s  tests/a.py::test_b[c d]",
                          "      12.3 s  tests/a.py::test_b[c d]"]
    assert gate.slowest(LOG)["unit.merge"] == "\n       1.2 s  a case"


@pytest.fixture(scope="module")
def long_run():
    loader = importlib.machinery.SourceFileLoader("test_long_script", str(ROOT / "scripts" / "test-long"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("part, texts, want", [
    ("versions", ["9 passed in 1s\n1 failed, 7 passed in 2s\n1000 passed in 3s\n"], "1,016 passed, 1 failed"),
    # The output of a failed test is not its session's summary.
    ("versions", ["E  assert '3 passed' in text\n=== 1 failed, 7 passed, 2 deselected in 62.01s (0:01:02) ===\n"], "1 failed, 7 passed"),
    ("sanitized", ["9 passed in 1s\n", "7 passed in 2s\n"], "16 passed"),
    ("seeds", ["10 runs, 0 wrong\n20 runs, 0 wrong\n", "20 runs, 1 wrong\n"], "40 runs, 1 wrong"),
    ("reproduce", ["the same programs\n"], "1 same"),
    ("benchmarks", ["--- 50 TrainJobs, Signalbox, turn 1\n\n50 TrainJobs; idle before, idle after\n", "50 settled jobs; idle before\n",
                    "50 jobs; idle before\n", "50 TrainJobs of 2000 bytes report every 10 s\n"], "200 jobs"),
    ("waits", ["no summary\n"], "no count"),
])
def test_the_long_run_adds_up_the_numbers_of_its_steps(long_run, part, texts, want):
    assert long_run.counted(long_run.PARTS[part], texts) == want


def test_the_long_run_goes_on_after_a_step_that_fails_and_names_it(long_run, monkeypatch, tmp_path):
    monkeypatch.setattr(long_run, "ROOT", tmp_path)
    part = long_run.Part("any", [("crashes", "echo 2 passed in 1s; exit 139"), ("passes", "echo 3 passed in 1s")], long_run.PYTEST)
    line = long_run.run_part("any", part, tmp_path, {})
    assert line.startswith("FAILED in step crashes with exit status 139, see any.crashes.log: 5 passed, ")


@pytest.mark.parametrize("command", ["exit 130", "kill -TERM $$"])
def test_an_interrupted_step_of_the_long_run_is_not_done(long_run, monkeypatch, tmp_path, command):
    monkeypatch.setattr(long_run, "ROOT", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        long_run.run_part("any", long_run.Part("any", [("ends", command)], long_run.PYTEST), tmp_path, {})
    assert not (tmp_path / "any.ends.done").exists()
