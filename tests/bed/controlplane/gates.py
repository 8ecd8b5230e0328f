"""Features that Kubernetes has off by default and that are on here: gangs of its own scheduler, in one topology domain, and claims
that a gang shares."""

from . import releases

NAMES = ("GenericWorkload", "DRAWorkloadResourceClaims", "TopologyAwareWorkloadScheduling")
_GATES = "--feature-gates=" + ",".join(f"{name}=true" for name in NAMES)
_OPTIONS = {
    # Its beta APIs are off by default as well.
    "kube-apiserver": [_GATES, "--runtime-config=scheduling.k8s.io/v1beta1=true"],
    "kube-controller-manager": [_GATES],
    "kube-scheduler": [_GATES],
}


def available():
    """Returns whether this release of Kubernetes has them in the version of API that is tested."""
    return releases.minor_of_kubernetes() >= 37


def switched(program, arguments, on):
    """Returns the program's arguments with or without these options."""
    ours = _OPTIONS.get(program, [])
    return [word for word in arguments if word not in ours] + (ours if on else [])
