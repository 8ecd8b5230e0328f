#!/usr/bin/python3 -B
"""Compares the instructions of a benchmark's program with those of another commit, or with recorded ones. For bench/admission,
bench/build and bench/handshake.

  instructions.py PROGRAM --compare REVISION|FILE [--case TEXT]
  instructions.py PROGRAM --record FILE

Both programs take turns under callgrind, with the cases of today's benchmark; the libraries of the other commit are built for it. A case
or a function that takes 10 % more fails, and is named with the functions in which the instructions are. Exit status 1: one has failed.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from callgrind import Profile, read_profile, verdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of all instructions; what is less is not recorded.
LEAST_RECORDED = 0.001


def build(program, place):
    """Builds a program of the tree at `place`. Returns its file."""
    subprocess.run(["cmake", "--preset", "release"], cwd=place, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["cmake", "--build", "--preset", "release", "-j", "2", "--target", program], cwd=place, check=False,
                          env={**os.environ, "CCACHE_BASEDIR": str(place)}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout[-4000:]}\n{program} cannot be built in {place}: the benchmark of today does not fit to its libraries")
    return place / "build/release/bin" / program


def build_other(program, revision, place):
    """Builds today's program with the libraries of another commit, in the empty folder `place`."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place)], input=archive, check=True)
    shutil.rmtree(place / "bench/programs")
    shutil.copytree(ROOT / "bench/programs", place / "bench/programs")
    return build(program, place)


def cases_of(binary):
    """Returns (runs of each case, names)."""
    runs, *names = subprocess.run([binary, "--cases"], check=True, capture_output=True, text=True).stdout.splitlines()
    return int(runs), names


def profile(binary, case, runs):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "callgrind.out"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=counted(*", str(binary),
                        "--counted", case], check=True, capture_output=True)
        return read_profile(out.read_text().splitlines(), runs)


def recorded(file):
    """Returns the profiles of a recorded file, by case."""
    return {case: Profile(**figures) for case, figures in json.loads(file.read_text()).items()}


def record(file, profiles):
    def large(figures, least):
        return {name: cost for name, cost in figures.items() if cost >= least}
    text = json.dumps({case: {**dataclasses.asdict(found), "own": large(found.own, LEAST_RECORDED * found.total),
                              "inclusive": large(found.inclusive, LEAST_RECORDED * found.total)} for case, found in profiles.items()}, indent=1)
    file.write_text(text + "\n")


def main():
    parser = argparse.ArgumentParser(prog="instructions.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--compare", metavar="REVISION|FILE")
    what.add_argument("--record", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--case", metavar="TEXT", default="", help="only cases with that text in their names")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("instructions.py: valgrind is missing: apt-get install valgrind")
    now = build(options.program, ROOT)
    runs, names = cases_of(now)
    names = [name for name in names if options.case in name]
    if options.record:
        record(options.record, {name: profile(now, name, runs) for name in names})
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(options.compare)
        if file.is_file():
            known = recorded(file)
            before = known.get
        else:
            other = build_other(options.program, options.compare, pathlib.Path(scratch).resolve())

            def before(name):
                return profile(other, name, runs)
        failed = []
        for name in names:
            was, found = before(name), profile(now, name, runs)
            if was is None:
                print(f"{name}: {found.total:,} instructions; it was not recorded")
                continue
            good, text = verdict(name, was, found)
            print(text, flush=True)
            if not good:
                failed.append(name)
    print(f"{len(names) - len(failed)} cases within 10 %, {len(failed)} above")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
