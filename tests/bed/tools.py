"""Packages of Debian that scripts/setup has unpacked, since installing them would start a server."""

import os
import pathlib


def unpacked(package, program):
    """Returns the path of a package's program."""
    cache = os.environ.get("SIGNALBOX_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "signalbox"
    return pathlib.Path(cache).expanduser() / "tools" / package / "usr" / "bin" / program
