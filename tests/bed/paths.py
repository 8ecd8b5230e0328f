"""Paths in the checkout."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


def shipped(name):
    """Returns the release program of that name, for what a sanitizer changes: memory, time, and the number of descriptors."""
    folder = pathlib.Path(os.environ.get("SIGNALBOX_RELEASE_DIR") or ROOT / "build" / "release" / "bin")
    program = folder / name
    assert program.exists(), (f"{program} is missing: build it (cmake --preset release && cmake --build --preset release --target {name}), "
                              "or name its folder in SIGNALBOX_RELEASE_DIR")
    assert b"__asan_init" not in program.read_bytes(), f"{program} is sanitized: SIGNALBOX_RELEASE_DIR must name the folder of the shipped program"
    return program
