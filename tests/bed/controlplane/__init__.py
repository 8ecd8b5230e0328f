"""A real Kubernetes control plane on loopback, for tests, the demo and people (scripts/cluster)."""

from .binaries import build
from .plane import ControlPlane

__all__ = ["ControlPlane", "build"]
