"""Kubernetes' own controllers and its scheduler."""

from .ports import free_ports


def start(plane):
    """Starts both. Needs a running API server."""
    manager_port, scheduler_port = free_ports(2)
    plane.launch(
        "kube-controller-manager",
        "--kubeconfig", plane.user_kubeconfig("controller-manager", "system:kube-controller-manager"),
        # RBAC allows its own user little; each controller uses its own service account.
        "--use-service-account-credentials=true",
        "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", manager_port,
        "--service-account-private-key-file", plane.service_account_key, "--root-ca-file", plane.ca_file,
        # A test that creates hundreds of Jobs must wait for the program under test, not for these controllers.
        "--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent-job-syncs=10",
        # On a busy machine a heartbeat may be late. That must not look like a lost node.
        "--node-monitor-grace-period=5m")
    plane.launch(
        "kube-scheduler", "--kubeconfig", plane.user_kubeconfig("scheduler", "system:kube-scheduler"),
        "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", scheduler_port)


def ready(plane):
    """Returns whether pods can be created: every pod needs the default service account of its namespace."""
    return bool(plane.api.get("/api/v1/namespaces/default/serviceaccounts/default"))
