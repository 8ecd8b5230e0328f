"""A control plane with the gang scheduler of scheduler-plugins beside the default one, and room for each story."""

import contextlib
import os

import pytest

from controlplane.coscheduling import SCHEDULER, Coscheduling
from deployment import Signalbox
from rest import Rest
from rooms import Room, plane_with


@pytest.fixture(scope="package")
def cluster(request):
    with plane_with(Coscheduling, request.session, nodes=8) as control_plane:
        yield control_plane


@pytest.fixture(scope="package")
def installed(cluster):
    with Signalbox(cluster, os.environ["SIGNALBOX_BIN_DIR"]) as signalbox:
        signalbox.install_runtimes()
        yield signalbox


@pytest.fixture(scope="package")
def admin(cluster):
    return Rest(cluster.kubeconfig)


@pytest.fixture(scope="package")
def room(cluster, installed, admin):
    """Returns room({node: places}): a context manager with a Room of its own. gangs: whether the gang scheduler places its Pods."""
    def make(places, gangs=True):
        return contextlib.closing(Room(admin, cluster, places, lambda timeout: {"coscheduling": {"scheduleTimeoutSeconds": timeout}},
                                       **({"schedulerName": SCHEDULER} if gangs else {})))
    return make


@pytest.fixture(scope="package")
def native_room(cluster, installed, admin):
    """The same for gangs that Kubernetes' own scheduler places."""
    return lambda places: contextlib.closing(Room(admin, cluster, places, lambda timeout: {"kubernetes": {}}))
