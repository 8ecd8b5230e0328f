"""Follows the guides in docs/ word for word on the real control plane: applies their YAML, runs their commands, compares the output. Those
that need real nodes as well: tests/cluster/real/test_guides.py."""

import os
import pathlib

import pytest

from paths import ROOT
from guides import ON_REAL_NODES, Reader, keep_pods_running, steps_of

DOCS = ROOT / "docs"
# Needs no cluster: tests/programs/cli/test_command_line.py.
ELSEWHERE = {"offline-tools.md"}
GUIDES = sorted({path.name for path in DOCS.glob("*.md") if "```console" in path.read_text()} - ELSEWHERE - ON_REAL_NODES)
# The test bed's nodes end a pod after a second. For guides about running jobs, they do not.
LONG = {"dra.md", "kueue.md", "runtime-patches.md"}


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_can_be_followed_word_for_word(name, cluster, signalbox, rest, kubeconfig, tmp_path):
    if name in LONG:
        keep_pods_running(rest)
    reader = Reader(cluster, pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]).resolve(), tmp_path, kubeconfig, rest.namespace)
    for step in steps_of(DOCS / name):
        reader.follow(step)
