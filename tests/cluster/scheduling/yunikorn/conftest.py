"""A control plane with YuniKorn beside the default scheduler, and room for each story."""

import contextlib
import os

import pytest

from controlplane.yunikorn import YuniKorn
from deployment import Signalbox
from rest import Rest
from rooms import Room, plane_with


@pytest.fixture(scope="package")
def cluster(request):
    with plane_with(YuniKorn, request.session) as control_plane:
        yield control_plane


@pytest.fixture(scope="package")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"]) as signalbox:
        yield signalbox


@pytest.fixture(scope="package")
def admin(cluster):
    return Rest(cluster.kubeconfig)


@pytest.fixture(scope="package")
def room(cluster, installed, admin):
    """Returns room({node: places}, style): a context manager with a Room of its own, whose gangs have that gangSchedulingStyle."""
    def make(places, style="Hard"):
        return contextlib.closing(Room(
            admin, cluster, places, lambda timeout: {"yunikorn": {"placeholderTimeoutSeconds": timeout, "gangSchedulingStyle": style}}))
    return make
