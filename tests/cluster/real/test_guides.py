"""Follows the guides in docs/ that need programs that run: side by side, since they mostly wait."""

import os
import pathlib

import pytest

from guides import ON_REAL_NODES, Reader, steps_of
from node.images import TRAINING
from paths import ROOT


@pytest.fixture(scope="session")
def images_of_guides(cluster):
    """The nodes pull nothing. So the image that they have gets the names in the guides."""
    cluster.name_image(TRAINING, "docker.io/pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime", "docker.io/library/python:3.13-slim")


@pytest.mark.together
@pytest.mark.parametrize("name", sorted(ON_REAL_NODES))
def test_a_guide_can_be_followed_word_for_word(name, cluster, runtimes, images_of_guides, rest, tmp_path):
    programs = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]).resolve()
    reader = Reader(cluster, programs, tmp_path, cluster.admin_kubeconfig(rest.namespace), rest.namespace)
    for step in steps_of(ROOT / "docs" / name):
        reader.follow(step)
