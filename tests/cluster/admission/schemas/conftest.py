"""On an API server with our CRDs, and without any controller or webhook."""

import pytest

from rows import Sent
from schema_server import installed, namespaces, plane, rest  # noqa: F401


@pytest.fixture(scope="session")
def sent(rest):
    """The rows, with our CRDs."""
    return Sent(rest)
