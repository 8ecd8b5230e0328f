"""tests/bed has the helpers that tests share, and scripts/lib those of scripts."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "bed"), str(ROOT / "manifests" / "crds-source"), str(ROOT / "scripts" / "lib")]
