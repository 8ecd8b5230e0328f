"""tests/bed has the helpers that tests share."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "bed"), str(ROOT / "manifests" / "crds-source")]
