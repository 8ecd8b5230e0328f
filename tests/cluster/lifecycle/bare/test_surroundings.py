"""Start and end on a real API server: CRDs that are missing at first, a clean stop."""

import json
import os
import pathlib

import pytest

from controlplane import ControlPlane
from controlplane.jobset import JobSet
from deployment import NAMESPACE, ROOT, Program
from jobs import runtime, train_job
from rest import Rest, wait_for

BINARIES = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"])


@pytest.fixture(scope="module")
def bare():
    """An API server with JobSet's CRD, on which nothing of Signalbox is installed."""
    with ControlPlane(lean=True) as plane:
        JobSet(plane).create_crd()
        yield plane


def lines(program, message):
    return [line for line in program.text().splitlines() if f'"msg":"{message}"' in line]


def test_started_before_its_crds_it_waits_unready_and_then_works(bare):
    rest = Rest(bare.kubeconfig)
    reconciler = Program(BINARIES / "signalbox-reconciler", bare.directory / "early.log",
                         ["--kubeconfig", bare.kubeconfig, "--admin-listen", "127.0.0.1:0", "--lease",
                          f"{NAMESPACE}/trainer.kubeflow.org"])
    try:
        wait_for("a log line per CRD", lambda: len(lines(reconciler, "cannot watch; trying again")) >= 3)
        assert reconciler.admin("/healthz")[0] == 200
        status, reasons = reconciler.admin("/readyz")
        assert status == 503 and "trainjobs.trainer.kubeflow.org" in reasons

        bare.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests" / "base" / "crds"))
        rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        wait_for("readiness", lambda: reconciler.admin("/readyz")[0] == 200, timeout=60)
        rest.create(runtime())
        rest.create(train_job("patient"))
        wait_for("its JobSet", lambda: rest.get("jobsets", "patient"), timeout=60)
        # One line per change of state (missing, then still being established), not one per attempt.
        lines_of_watches = [json.loads(line) for line in lines(reconciler, "cannot watch; trying again")]
        errors = [(c["resource"], c["error"]) for c in lines_of_watches]
        assert len(errors) == len(set(errors)) and {r for r, _ in errors} >= {"trainjobs.trainer.kubeflow.org"}
        # The three CRDs, JobSets, and what is no CRD: PodGroups of Kubernetes' own scheduler, disruption budgets and network policies.
        assert len(lines(reconciler, "watching")) == 7
    finally:
        problems = reconciler.stop()
    assert problems == []


def test_a_clean_stop_gives_the_lease_back(bare):
    rest = Rest(bare.kubeconfig)
    lease = rest.get("leases", "trainer.kubeflow.org", NAMESPACE)
    assert not lease["spec"].get("holderIdentity")


def test_every_log_line_is_one_json_object(bare):
    for line in (bare.directory / "early.log").read_text().splitlines():
        assert json.loads(line)["level"] in ("info", "warn", "error", "debug")
