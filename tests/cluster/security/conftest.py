"""Both programs log all that they can, so that the fixture `secrets` sees whatever they could tell."""

import os

import pytest

from deployment import Signalbox


@pytest.fixture(scope="session")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"], log_level="debug") as signalbox:
        signalbox.install_runtimes()
        yield signalbox
