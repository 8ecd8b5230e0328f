"""Features that Kubernetes has off by default and that are on here: gangs of its own scheduler, in one topology domain, and claims
that a gang shares."""

from . import releases

NAMES = ("GenericWorkload", "DRAWorkloadResourceClaims", "TopologyAwareWorkloadScheduling")
_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_OPTION = "--feature-gates="
# The beta APIs of the first are off by default as well.
_API = "--runtime-config=scheduling.k8s.io/v1beta1=true"


def available():
    """Returns whether this release of Kubernetes has them in the version of API that is tested."""
    return releases.minor_of_kubernetes() >= 37


def switched(program, arguments, names):
    """Returns the program's arguments with these features, and no other of them."""
    if program not in _PROGRAMS:
        return arguments
    kept = [word for word in arguments if word != _API and not word.startswith(f"{_OPTION}{NAMES[0]}=")]
    if not names:
        return kept
    option = _OPTION + ",".join(f"{name}=true" for name in names)
    return [*kept, option, _API] if program == "kube-apiserver" else [*kept, option]
