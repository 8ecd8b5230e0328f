"""The demo runs on its own control plane beside the other tests of this folder: it mostly waits."""

import pytest

from running_demo import Demo


def pytest_collection_modifyitems(items):
    """The hook of pytest: what looks at the demo comes last."""
    items.sort(key=lambda item: "demo" in item.fixturenames)


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    with Demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def begin_the_demo(request):
    if any("demo" in item.fixturenames for item in request.session.items):
        request.getfixturevalue("demo")
