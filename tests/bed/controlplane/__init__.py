"""A real Kubernetes control plane on loopback, for tests, the demo and scripts/cluster."""

from .releases import build
from .plane import ControlPlane

__all__ = ["ControlPlane", "build"]
