"""Both programs as talkative as they can be: what they must not tell, they tell nowhere."""

import os

import pytest

from deployment import Signalbox


@pytest.fixture(scope="session")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"], log_level="debug") as signalbox:
        signalbox.install_runtimes()
        yield signalbox
