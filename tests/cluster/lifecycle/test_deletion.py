"""The report of a TrainJob whose deletion is blocked."""

import pytest

from jobs import train_job
from progress import events, until_gone, until_runs
from rest import wait_for
from test_suspended_changes import a_disk, storing


@pytest.mark.long
def test_the_warning_of_a_train_job_names_the_volume_claim_that_blocks_its_deletion(signalbox, rest, kubectl):
    rest.create(storing())
    with a_disk(rest, "kept"):
        rest.create(train_job("kept", "storing", seconds="never"))
        until_runs(rest, "kept")
        held = rest.get("persistentvolumeclaims", "data-kept")["metadata"]["finalizers"] + ["example.com/backup"]
        rest.patch("persistentvolumeclaims", "data-kept", {"metadata": {"finalizers": held}})
        rest.delete("trainjobs", "kept", propagation="Foreground")
        (warning,) = wait_for("the warning", lambda: events(rest, "kept", "DeletionBlocked"), timeout=90)
        assert warning["type"] == "Warning" and "JobSet " + rest.namespace + "/kept" in warning["note"]
        command = warning["note"].partition("kubectl ")[2].split()
        shown = [line.split() for line in kubectl(*command).splitlines()]
        assert [(kind, name, finalizers) for kind, name, _, finalizers in shown] == [
            ("KIND", "NAME", "FINALIZERS"), ("PersistentVolumeClaim", "data-kept", "[example.com/backup]")]
        rest.patch("persistentvolumeclaims", "data-kept", {"metadata": {"finalizers": None}})
        until_gone(rest, "kept")
