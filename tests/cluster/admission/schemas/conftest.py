"""Tests on an API server with Signalbox's CRDs, and without any controller or webhook."""

import pytest

from rows import Sent
from schema_server import installed, namespaces, plane, rest  # noqa: F401


@pytest.fixture(scope="session")
def sent(rest):
    """Returns the rows at a server with Signalbox's CRDs."""
    return Sent(rest)
