"""The options of the programs, which users write into manifests and scripts.

tests/data/interface.yaml records them, so that a review sees when one is added, renamed or removed, and
tests/guards/interface/test_interface.py compares it. This writes it again, by the programs in $SIGNALBOX_BIN_DIR (default: build/dev/bin):

  python3 tests/bed/interface.py --write

docs/support.md says for how long a name has to stay. The names of metrics are recorded in one place only, the table of docs/operations.md:
guard.metrics compares it with the sources, tests/cluster/operations/manifests/test_metrics.py with the running programs."""

import os
import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "data" / "interface.yaml"
PROGRAMS = ("signalbox-webhook", "signalbox-reconciler", "kubectl-trainjob")
HEADING = "# Written by tests/bed/interface.py --write, which says what this is.\n"


def options(binaries):
    """Returns {usage: [option as --help shows it]} of the programs and their commands."""
    found = {}
    for program in PROGRAMS:
        said = _help(binaries / program)
        found |= _options_of(said)
        for command in re.findall(r"(?m)^       kubectl trainjob (\S+)", said):
            found |= _options_of(_help(binaries / program, command))
    return found


def text(binaries):
    """Returns what the record should be."""
    return HEADING + yaml.dump({"options": options(binaries)}, sort_keys=False, width=1000)


def _help(*command):
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout


def _options_of(said):
    usage = re.match(r"Usage: (.*) \[options\]\n", said)[1]
    return {usage: sorted((line.strip() for line in re.findall(r"(?m)^  (-.*?)(?:  |$)", said)), key=lambda option: option.split("--")[1])}


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    RECORD.write_text(text(pathlib.Path(os.environ.get("SIGNALBOX_BIN_DIR", ROOT / "build" / "dev" / "bin"))))
