"""Kueue itself next to Signalbox, one for all stories, and a queue for each.

scripts/kueue-stories has them told of Kubeflow Trainer, too: SIGNALBOX_STORIES_OF=trainer.
"""

import contextlib
import os

import pytest

from controlplane.kueue import Kueue
from controlplane.trainer import Trainer
from paths import ROOT
from queues import HOST, KUEUE_API, URGENT, Queue

OF_TRAINER = os.environ.get("SIGNALBOX_STORIES_OF") == "trainer"


@pytest.fixture(scope="session")
def installed(request, cluster):
    """What makes TrainJobs run: Signalbox as in the other folders, or Kubeflow Trainer with our runtimes."""
    if not OF_TRAINER:
        yield request.getfixturevalue("installed")
        return
    original = Trainer(cluster)
    original.install()
    original.start()
    cluster.kubectl("apply", "--validate=ignore", "-k", ROOT / "manifests" / "runtimes")
    yield original


@pytest.fixture
def signalbox(request):
    if OF_TRAINER:
        pytest.skip("stops, or looks into, programs of Signalbox")
    yield request.getfixturevalue("signalbox")


@pytest.fixture(scope="session")
def kueue(cluster, installed, admin):
    """Its manager, in charge of the namespaces that carry its label."""
    manager = Kueue(cluster)
    manager.install()
    manager.start()
    admin.create({"apiVersion": KUEUE_API, "kind": "WorkloadPriorityClass", "metadata": {"name": URGENT}, "value": 1000},
                 "workloadpriorityclasses")
    admin.create({"apiVersion": KUEUE_API, "kind": "Topology", "metadata": {"name": "hosts"}, "spec": {"levels": [{"nodeLabel": HOST}]}},
                 "topologies")
    return manager


@pytest.fixture(scope="session")
def queue(kueue, cluster, admin):
    """queue(flavor, ...): a context manager with a Queue of its own.."""
    @contextlib.contextmanager
    def make(*flavors, **options):
        made = Queue(admin, cluster.kubeconfig, *flavors, **options)
        try:
            yield made
        finally:
            made.close()
    return make
