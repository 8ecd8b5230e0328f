"""The reconciler on a node whose clock is wrong by a day, at the real API server: its clock alone decides."""

import pathlib
import time

from architectures import THIS, TRIPLETS
from jobs import runtime, train_job
from lean import finished
from progress import created_at, since, until
from rest import conditions, wait_for

FAKETIME = pathlib.Path("/usr/lib") / TRIPLETS[THIS] / "faketime" / "libfaketime.so.1"
HOURS = 3600


def on_a_node(days):
    """The environment of a program whose clock is wrong by so many days; its steady clock is right."""
    # A sanitizer wants to be the first library, and need not be.
    return {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"{days:+d}d", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}


def says_the_wrong_time(program, days):
    """Whether the program really has that clock: its log has this node's time."""
    first = program.text().splitlines()[0]
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * 24 * HOURS)) in first


def test_a_clock_that_is_a_day_ahead_ends_no_job_early_and_none_late(rest, start):
    """One that is a day behind cannot reach this API server, whose certificate is of today."""
    days = 1
    for number in range(5):
        rest.create(train_job(f"long-{number}", activeDeadlineSeconds=20 * HOURS))
    rest.create(runtime("kept", runPolicy={"ttlSecondsAfterFinished": 20 * HOURS}))
    rest.create(train_job("ended", "kept"))
    program = start(environment=on_a_node(days))
    assert says_the_wrong_time(program, days)
    for name in ("ended", *(f"long-{number}" for number in range(5))):
        wait_for(f"the JobSet of {name}", lambda: rest.get("jobsets", name))
    rest.patch("jobsets", "ended", finished(), subresource="status")
    until(rest, "ended", "Complete")

    rest.create(train_job("short", activeDeadlineSeconds=5))
    job = until(rest, "short", "Failed", "DeadlineExceeded")
    assert created_at(job) + 5 <= since(job, "Failed") <= created_at(job) + 7
    assert time.time() < created_at(job) + 30  # it ended by then at the latest, whatever the condition says

    # By now everything else would have ended as well.
    program = start(environment=on_a_node(days)) if program.stop() == [] else None
    wait_for("the new reconciler to lead", program.leads)
    wait_for("its first reconciles", lambda: program.metric("signalbox_reconciles_total") >= 6)
    for number in range(5):
        assert "Failed" not in conditions(rest.get("trainjobs", f"long-{number}"))
        assert abs(since(rest.get("trainjobs", f"long-{number}"), "Created") - time.time()) < 300
    assert rest.get("trainjobs", "ended") is not None
    assert program.metric("signalbox_clock_uncertain") == 0
