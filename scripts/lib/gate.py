"""The gate behind scripts/test: builds the targets that the chosen tests need, runs the tests by ctest, and prints the time of each part.

A test's labels hold the targets to build, its part and its budget in minutes (describe_test() in cmake/Modules.cmake). A part that
takes twice its budget is named in a warning, with its slowest tests. Time alone never fails the gate, because machines are shared.
ctest's log of the run, build/dev/Testing/Temporary/LastTest.log, names the slow tests of every part."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import changes

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEV = ROOT / "build" / "dev"
# Minutes on two idle cores when nothing has changed since the last run.
BUDGETS = {"set up": 0.3, "build dev": 1, "build release": 0.5, "build tsan": 0.3, "the control plane's programs": 0.2, "Kueue": 0.1, "Coscheduling": 0.1, "clang-tidy": 0.5,
           "unit (sum)": 2, "guard (sum)": 0.5, "fuzz (sum)": 0.6}
RESULT = re.compile(r"\s*\d+/\d+ Test +#\d+: (\S+) \.+\S*\s+.*?([\d.]+) sec")
TOTALS = re.compile(r"\d+% tests passed")
OUTPUT = re.compile(r"^\d+/\d+ Test: (\S+)\n.*?\nOutput:\n(.*?)^<end of output>", re.MULTILINE | re.DOTALL)
# "12.34s call     tests/a.py::test_b" by pytest, "1.234 s: a case" by Catch2.
DURATION = re.compile(r"^ *([\d.]+) ?s(?: (?:call|setup|teardown))?:? +(\S.*)$", re.MULTILINE)


class Test:
    """One entry of ctest."""

    def __init__(self, entry):
        labels = next((p["value"] for p in entry.get("properties", []) if p["name"] == "LABELS"), [])
        values = dict(label.split(":", 1) for label in labels if ":" in label and not label.startswith("needs:"))
        self.name = entry["name"]
        self.needs = [label.removeprefix("needs:") for label in labels if label.startswith("needs:")]
        self.part = next((label for label in labels if ":" not in label), "other")
        self.minutes = float(values.get("minutes", 0))


class Parts:
    """The parts that are done, with their times and budgets."""

    def __init__(self, began):
        self._began = began
        self._rows = []  # (name, seconds, budget in minutes or None)
        self.add("set up", time.time() - began)

    def timed(self, name, action):
        started = time.time()
        print(f"\n== {started - self._began:5.0f} s  {name}", flush=True)
        action()
        self.add(name, time.time() - started)

    def add(self, name, seconds, minutes=None):
        self._rows.append((name, seconds, minutes or BUDGETS.get(name)))

    def table(self, slow=None, busy=None):
        """Returns the table with its warnings. slow: {part: a text about its slowest tests}. busy: the share of the cores that was used."""
        lines = ["", f"{'part':34} {'took':>8} {'budget':>8}"]
        lines += [f"{name:34} {seconds:6.0f} s " + (f"{60 * minutes:6.0f} s" if minutes else "") for name, seconds, minutes in self._rows]
        lines += [f"{'everything':34} {time.time() - self._began:6.0f} s"]
        # Where cores are idle, tests wait; otherwise only less work is quicker.
        lines += [f"the cores were busy for {busy:.0%} of the tests' time" if busy is not None else "", ""]
        lines += [f"warning: {name} took {seconds:.0f} s, more than twice its {60 * minutes:.0f} s{(slow or {}).get(name, '')}"
                  for name, seconds, minutes in self._rows if minutes and seconds > 2 * 60 * minutes]
        return "\n".join(lines)


def cpu_times():
    """Returns the time that all cores have worked, and all of their time, in the kernel's ticks."""
    ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, check=False, **options)
    if done.returncode:
        sys.exit(f"scripts/test: {' '.join(str(word) for word in command[:4])} failed with exit status {done.returncode}")
    return done


def configure(preset):
    run("cmake", "--preset", preset, stdout=subprocess.DEVNULL)


def tests_of(directory=DEV):
    listed = run("ctest", "--test-dir", directory, "--show-only=json-v1", capture_output=True, text=True)
    return [Test(entry) for entry in json.loads(listed.stdout)["tests"]]


def builds(tests, targets=None):
    """Yields (name, action) for all builds that these tests need, besides `targets` of each preset."""
    targets = dict(targets or {})
    for need in dict.fromkeys(need for test in tests for need in test.needs):
        preset, _, target = need.partition("/")
        targets.setdefault(preset, []).append(target)
    for preset in ("dev", "release", "tsan"):
        if preset in targets:
            yield f"build {preset}", lambda preset=preset: build(preset, targets[preset])
    if "control-plane" in targets:
        yield "the control plane's programs", lambda: run("scripts/cluster", "build")
    if "kueue" in targets:
        yield "Kueue", lambda: run("scripts/cluster", "build", "--kueue")
    if "coscheduling" in targets:
        yield "Coscheduling", lambda: run("scripts/cluster", "build", "--coscheduling")
    if "real-nodes" in targets:
        yield "real nodes", lambda: run("scripts/cluster", "build", "--real")
    if "driver" in targets:
        yield "the example driver", lambda: run("scripts/cluster", "build", "--driver")


def build(preset, targets):
    if preset != "dev":
        configure(preset)
    run("cmake", "--build", "--preset", preset, "-j", os.cpu_count(), "--target", *targets)


def slowest(log, count=5):
    """Returns {test of ctest: a text about the slowest tests in its output}."""
    found = {}
    for name, output in OUTPUT.findall(log):
        rows = sorted(((float(seconds), what) for seconds, what in DURATION.findall(output)), reverse=True)[:count]
        found[name] = "".join(f"\n    {seconds:6.1f} s  {what}" for seconds, what in rows)
    return found


def ctest(parts, tests, chosen, jobs):
    """Runs the tests and returns the exit status. ctest's count of them is printed last."""
    selection = ["-R", "^(" + "|".join(re.escape(test.name) for test in chosen) + ")$"] if len(chosen) < len(tests) else []
    command = ["ctest", "--test-dir", str(DEV), "--output-on-failure", "--no-label-summary", "--no-tests=error", "-j", str(jobs), *selection]
    took, held, before = {}, [], cpu_times()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            if found := RESULT.match(line):
                took[found[1]] = float(found[2])
            if held or TOTALS.match(line):
                held.append(line)
            else:
                print(line, end="", flush=True)
    worked, passed = (now - then for now, then in zip(cpu_times(), before))
    small = {}
    for test in chosen:
        if test.minutes and test.part != "fuzz":
            parts.add(test.name, took.get(test.name, 0), test.minutes)
        else:
            small[test.part] = small.get(test.part, 0) + took.get(test.name, 0)
    for part, seconds in small.items():
        parts.add(f"{part} (sum)", seconds)
    slow = slowest((DEV / "Testing" / "Temporary" / "LastTest.log").read_text(errors="replace"))
    print(parts.table(slow | {f"{part} (sum)": "".join(slow.get(test.name, "") for test in chosen if test.part == part)
                              for part in small}, worked / max(1, passed)), flush=True)
    print("".join(held), end="", flush=True)
    return running.returncode


def gate(parts, tests, chosen, everything):
    # All sources are compiled, also those of tests that the gate does not run.
    for name, action in builds(chosen, {"dev": ["all"]} if everything else None):
        parts.timed(name, action)
    if everything:
        parts.timed("clang-tidy", lambda: run("scripts/tidy", "--changed"))
    print(f"\n== {len(chosen)} of {len(tests)} tests", flush=True)
    # Tests on a cluster wait for it, and a cluster keeps a core busy.
    return ctest(parts, tests, chosen, os.cpu_count())


def one_by_one(parts, tests, revision):
    """Runs the nearest tests first, each as soon as it is built."""
    chosen = changes.tests_for(ROOT, revision, [test.name for test in tests])
    print(f"{len(chosen)} of {len(tests)} tests can have been broken: {' '.join(chosen)}")
    failed = []
    for name in chosen:
        test = next(each for each in tests if each.name == name)
        for title, action in builds([test]):
            parts.timed(f"{title} for {name}", action)
        if subprocess.run(["ctest", "--test-dir", DEV, "--output-on-failure", "-R", f"^{re.escape(name)}$"], cwd=ROOT, check=False).returncode:
            failed.append(name)
    print("failed: " + " ".join(failed) if failed else f"all {len(chosen)} passed")
    return 1 if failed else 0


def main():
    command, argument = (sys.argv[1:] + ["", ""])[:2]
    parts = Parts(float(os.environ.get("SIGNALBOX_TEST_BEGAN", time.time())))
    configure("dev")
    tests = tests_of()
    if command == "--list":
        print("\n".join(f"{test.name:32} {test.part:10}" + (f" {test.minutes:g} min" if test.minutes else "") for test in tests))
        return 0
    if command == "--changed":
        return one_by_one(parts, tests, argument or "main")
    if command == "--only" and not argument:
        sys.exit("scripts/test: --only wants a pattern; scripts/test --list shows the names")
    chosen = [test for test in tests if re.search(argument, test.name)]
    if not chosen:
        sys.exit(f"scripts/test: no test's name matches {argument!r}; scripts/test --list shows them")
    return gate(parts, tests, chosen, everything=not command)


if __name__ == "__main__":
    sys.exit(main())
