"""Fixtures of this folder: the kinds of the gang schedulers, and TrainJobs of every runtime."""

import pytest

import devices
from acceptance import submit_all
from gangs import GROUPS, install_pod_groups, said_of
from rest import wait_for


@pytest.fixture(scope="session")
def before_pod_groups(installed):
    """Returns {API group: the log lines about its PodGroups} from before they are installed."""
    def look():
        said = {group: said_of(installed, group) for group, _ in GROUPS.values()}
        return said if all(said.values()) else None
    return wait_for("the reconciler to discover PodGroups", look)


@pytest.fixture(scope="session")
def pod_groups(before_pod_groups, admin):
    """Installs PodGroups. The reconciler finds them within half a minute."""
    install_pod_groups(admin)


@pytest.fixture(scope="session")
def accepted(installed, admin, pod_groups):
    return submit_all(admin)


@pytest.fixture(scope="session")
def models(admin):
    """Invented devices of two models."""
    devices.install(admin, "a100", "h100")
