import pathlib
import shutil

import pytest

from controlplane import binaries


@pytest.fixture(scope="session")
def kubectl():
    """The path of a real kubectl: the PATH's, or else the test bed's."""
    return pathlib.Path(shutil.which("kubectl") or binaries.build() / "kubectl")
