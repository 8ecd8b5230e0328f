"""etcd and the API server."""

import shutil

from .ports import free_ports


def start(plane):
    """Starts both; they are up when plane.api answers /readyz. Returns the server's URL."""
    client, peer, secure = free_ports(3)
    _launch_etcd(plane, client, peer)
    plane.store = f"http://127.0.0.1:{client}"
    url = f"https://127.0.0.1:{secure}"
    issuer = (url, "--service-account-jwks-uri", f"{url}/openid/v1/jwks") if plane.issues_as_itself else ("https://kubernetes.default.svc",)
    real = None if isinstance(plane.nodes, int) else plane.nodes
    # Pods reach it at the first address of the range of Services.
    hosts = ["127.0.0.1", "localhost", "kubernetes.default.svc", *([real.address, "10.96.0.1"] if real else [])]
    cert, key = plane.authority.issue("server", "kube-apiserver", hosts=hosts)
    # The Service "kubernetes" cannot have the loopback address as an endpoint.
    reached = real.options_of_api_server(plane) if real else ["--bind-address", "127.0.0.1", "--endpoint-reconciler-type", "none"]
    plane.launch(
        "kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{client}",
        "--secure-port", secure, *reached,
        "--tls-cert-file", cert, "--tls-private-key-file", key, "--client-ca-file", plane.ca_file,
        "--authorization-mode", "Node,RBAC",
        "--service-cluster-ip-range", "10.96.0.0/16",
        "--service-account-issuer", *issuer,
        "--service-account-key-file", plane.service_account_key,
        "--service-account-signing-key-file", plane.service_account_key,
        "--allow-privileged=true", "--profiling=false", *plane.api_server_options)
    return url


def _launch_etcd(plane, client, peer):
    data = plane.directory / "etcd"
    shutil.rmtree(data, ignore_errors=True)
    client_url, peer_url = (f"http://127.0.0.1:{port}" for port in (client, peer))
    plane.launch(
        "etcd", "--name", "default", "--data-dir", data, "--log-level", "warn",
        # The data is deleted with the control plane, so it need not survive a power failure.
        "--unsafe-no-fsync",
        "--listen-client-urls", client_url, "--advertise-client-urls", client_url,
        "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
        "--initial-cluster", f"default={peer_url}")
