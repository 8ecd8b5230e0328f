"""Both programs log at the debug level, so that the fixture `secrets` checks all that they can log."""

import os

import pytest

from deployment import Signalbox


@pytest.fixture(scope="session")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"], log_level="debug") as signalbox:
        signalbox.install_runtimes()
        yield signalbox
