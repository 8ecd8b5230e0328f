"""The panels of the dashboard that documents show, from data of a real Prometheus. For scripts/pictures."""

import contextlib
import os
import time

from panels import ROOT, draw_used
from prometheus import Prometheus  # panels knows where it is

SHIFTS = 9
SECONDS_BETWEEN = 20


def hang(rest, number):
    """Lets the training of one job hang during some shifts, and another one be too slow for its active deadline."""
    import progress_deadlines
    from jobs import train_job
    from progress import until_runs

    if number == 0:
        rest.create(train_job("hangs", "shift", seconds="never"))
        rest.create(train_job("slow", "shift", seconds="never", activeDeadlineSeconds=3600))
        for name in ("hangs", "slow"):
            until_runs(rest, name)
    if number == 2:
        progress_deadlines.stand_still(rest, "hangs")
        rest.patch("trainjobs", "hangs", {"metadata": {"annotations": {progress_deadlines.SECONDS: "60"}}})
    if number == 6:
        progress_deadlines.report(rest, "hangs", progressPercentage=43)
    if number in (3, 7):
        progress_deadlines.report(rest, "slow", estimatedRemainingSeconds=7200 if number == 3 else 60)


def live(out):
    """Runs TrainJobs with every outcome for three minutes."""
    import progress_deadlines
    import progress_deployment
    from controlplane import ControlPlane
    from deployment import NAMESPACE, Signalbox
    from rest import Rest
    from shift import prepare, shift

    binaries = os.environ.get("SIGNALBOX_BIN_DIR", ROOT / "build" / "release" / "bin")
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane())
        signalbox = stack.enter_context(Signalbox(cluster, binaries))
        rest = Rest(cluster.kubeconfig)
        # Reports have been accepted for hours.
        progress_deadlines.lease(rest, NAMESPACE)
        progress = stack.enter_context(progress_deployment.running(cluster, binaries))
        signalbox.install_runtimes()
        signalbox.restart_reconciler(progress_deployment.DEADLINE_GATE)
        targets = {f"signalbox-{name}": getattr(signalbox, name).port_of("admin") for name in ("webhook", "reconciler")}
        targets["signalbox-progress"] = progress.port_of("admin")
        with Prometheus(cluster.directory / "prometheus", targets) as prometheus:
            start = time.time()
            prepare(rest)
            for number in range(SHIFTS):
                print(f"shift {number + 1} of {SHIFTS}", flush=True)
                began = time.monotonic()
                shift(rest, number, progress)
                hang(rest, number)
                time.sleep(max(0, began + SECONDS_BETWEEN - time.monotonic()))
            draw_used(prometheus, start, time.time(), out)
