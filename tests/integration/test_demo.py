"""scripts/demo's stories, with the programs under test."""

import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_demo_tells_its_four_stories_in_time():
    started = time.monotonic()
    run = subprocess.run(["/usr/bin/python3", "-B", ROOT / "scripts" / "lib" / "demo.py", "--binaries",
                          os.environ["SIGNALBOX_BIN_DIR"]], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("✓") == 4
    for said in ("Complete (AllJobsCompleted)", "Failed (DeadlineExceeded)", "Suspended (Suspended)", "TrainJob  gone",
                 "What to try next"):
        assert said in run.stdout
    # The bound for people is 90 s; sanitized programs on a busy machine get twice that.
    assert time.monotonic() - started < 180
