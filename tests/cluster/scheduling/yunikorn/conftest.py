"""A control plane with YuniKorn beside the default scheduler, and room for each story."""

import contextlib
import os

import pytest

from controlplane import ControlPlane
from controlplane.yunikorn import YuniKorn
from deployment import Signalbox
from rest import Rest
from rooms import Room


@pytest.fixture(scope="package")
def cluster(request):
    with ControlPlane() as control_plane:
        scheduler = YuniKorn(control_plane)
        scheduler.install()
        scheduler.start()
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0


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
    @contextlib.contextmanager
    def make(places, style="Hard"):
        made = Room(admin, cluster, places,
                    lambda timeout: {"yunikorn": {"placeholderTimeoutSeconds": timeout, "gangSchedulingStyle": style}})
        try:
            yield made
        finally:
            made.close()
    return make
