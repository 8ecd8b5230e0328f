"""What a TrainJob says whose deletion does not come to its end."""

import pytest

from jobs import train_job
from progress import events, until_gone, until_runs
from rest import wait_for
from test_suspended_changes import a_disk, storing


@pytest.mark.long
def test_a_volume_claim_that_another_controller_keeps_is_found_by_the_warning_of_the_train_job(signalbox, rest, kubectl):
    rest.create(storing())
    with a_disk(rest):
        rest.create(train_job("kept", "storing", seconds="never"))
        until_runs(rest, "kept")
        held = rest.get("persistentvolumeclaims", "data-kept")["metadata"]["finalizers"] + ["example.com/backup"]
        rest.patch("persistentvolumeclaims", "data-kept", {"metadata": {"finalizers": held}})
        rest.delete("trainjobs", "kept", propagation="Foreground")
        (told,) = wait_for("the warning", lambda: events(rest, "kept", "DeletionBlocked"), timeout=90)
        assert told["type"] == "Warning" and "JobSet " + rest.namespace + "/kept" in told["note"]
        command = told["note"].partition("kubectl ")[2].split()
        shown = [line.split() for line in kubectl(*command).splitlines()]
        assert [(kind, name, finalizers) for kind, name, _, finalizers in shown] == [
            ("KIND", "NAME", "FINALIZERS"), ("PersistentVolumeClaim", "data-kept", "[example.com/backup]")]
        rest.patch("persistentvolumeclaims", "data-kept", {"metadata": {"finalizers": None}})
        until_gone(rest, "kept")
