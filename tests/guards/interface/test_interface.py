"""The options of the programs are those that tests/data/interface.yaml records."""

import difflib
import os
import pathlib

import yaml

import interface

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])


def test_options_have_the_recorded_names():
    recorded = interface.RECORD.read_text()
    differences = "\n".join(difflib.unified_diff(recorded.splitlines(), interface.text(BINARIES).splitlines(), "recorded", "now", n=0, lineterm=""))
    assert not differences, f"{differences}\nIf users are meant to see that: python3 tests/bed/interface.py --write, and docs/upgrades.md"


def test_the_record_has_every_program_and_command():
    recorded = yaml.safe_load(interface.RECORD.read_text())
    usages = list(recorded["options"])
    assert usages[:3] == ["signalbox-webhook", "signalbox-reconciler", "kubectl trainjob"]
    assert {"kubectl trainjob check", "kubectl trainjob explain NAMESPACE/NAME", "kubectl trainjob wait NAME..."} <= set(usages[3:])
    assert "-f, --filename FILE" in recorded["options"]["kubectl trainjob check"]
    assert "--leader-elect[=bool]" in recorded["options"]["signalbox-reconciler"]
