"""One Kueue beside Signalbox for all stories, and a queue for each.

scripts/kueue-stories runs them with Kubeflow Trainer, too: SIGNALBOX_STORIES_OF=trainer.
"""

import contextlib
import os

import pytest

from controlplane.kueue import Kueue
from controlplane.trainer import Trainer
from deployment import Signalbox
from paths import ROOT
from queues import HOST, KUEUE_API, URGENT, Queue

OF_TRAINER = os.environ.get("SIGNALBOX_STORIES_OF") == "trainer"


@pytest.fixture(scope="session")
def install():
    """Returns install(control plane): a context manager that installs the controller of TrainJobs there, without runtimes."""
    @contextlib.contextmanager
    def of_trainer(plane):
        original = Trainer(plane)
        original.install()
        original.start()
        yield original
    return of_trainer if OF_TRAINER else lambda plane: Signalbox(plane, os.environ["SIGNALBOX_BIN_DIR"])


@pytest.fixture(scope="session")
def installed(request, cluster, install):
    """The controller of TrainJobs: Signalbox as in the other folders, or Kubeflow Trainer with Signalbox's runtimes."""
    if not OF_TRAINER:
        yield request.getfixturevalue("installed")
        return
    with install(cluster) as original:
        cluster.kubectl("apply", "--validate=ignore", "-k", ROOT / "manifests" / "runtimes")
        yield original


@pytest.fixture
def signalbox(request):
    if OF_TRAINER:
        pytest.skip("stops or inspects programs of Signalbox")
    yield request.getfixturevalue("signalbox")


@pytest.fixture(scope="session")
def kueue(cluster, installed, admin):
    """Kueue's manager, which manages the namespaces with its label."""
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
    """Returns queue(flavor, ...): a context manager with a Queue of its own."""
    @contextlib.contextmanager
    def make(*flavors, **options):
        made = Queue(admin, cluster.kubeconfig, *flavors, **options)
        try:
            yield made
        finally:
            made.close()
    return make
