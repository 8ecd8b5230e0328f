"""A control plane with the gang scheduler of scheduler-plugins beside the default one, and room for each story."""

import contextlib
import os

import pytest

from controlplane import ControlPlane
from controlplane.coscheduling import SCHEDULER, Coscheduling
from deployment import Signalbox
from rest import Rest
from rooms import Room


@pytest.fixture(scope="package")
def cluster(request):
    with ControlPlane() as control_plane:
        scheduler = Coscheduling(control_plane)
        scheduler.install()
        scheduler.start()
        yield control_plane
        control_plane.keep_logs = request.session.testsfailed > 0


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
    @contextlib.contextmanager
    def make(places, gangs=True):
        made = Room(admin, cluster, places, lambda timeout: {"coscheduling": {"scheduleTimeoutSeconds": timeout}},
                    **({"schedulerName": SCHEDULER} if gangs else {}))
        try:
            yield made
        finally:
            made.close()
    return make
