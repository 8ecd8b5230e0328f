"""How `kubectl trainjob` finds the cluster and its credentials, on a scripted API server with TLS."""

import base64
import json
import os
import pathlib
import pty
import resource
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from controlplane.certificates import Authority
from credential_plugins import CredentialPlugin
from scripted_api_server import ScriptedApiServer

PROGRAM = pathlib.Path(os.environ["SIGNALBOX_BIN_DIR"]) / "kubectl-trainjob"
JOB = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/job"


class Cluster(ScriptedApiServer):
    """Has the TrainJob team/job, for requests with one of the tokens, or with a client certificate of the CA."""

    def __init__(self, authority, tokens=("good",)):
        self.authority = authority
        self.tokens = set(tokens)
        self.seen = []  # the headers of each request, and the name in the client's certificate as Certificate
        cert, key = authority.issue("server", "server", hosts=("kube.example.com",))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cert, key)
        tls.load_verify_locations(authority.cert)
        tls.verify_mode = ssl.CERT_OPTIONAL
        super().__init__(tls=tls)

    def answer(self, request, url, body):
        subject = dict(part[0] for part in (request.connection.getpeercert() or {}).get("subject", ()))
        self.seen.append({**request.headers, "Certificate": subject.get("commonName")})
        token = (request.headers["Authorization"] or "").removeprefix("Bearer ")
        if token not in self.tokens and not subject:
            self.send(request, 401, {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"})
        elif url.path == JOB:
            self.send(request, 200, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": {"runtimeRef": {"name": "r"}},
                                     "metadata": {"name": "job", "namespace": "team", "uid": "u", "creationTimestamp": "2026-01-15T10:00:00Z"}})
        elif url.query:
            self.send(request, 200, {"items": []})
        else:
            self.send(request, 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})

    def kubeconfig(self, path, user, **cluster):
        """Writes a kubeconfig with this user, by whose cluster the server has its name in the certificate."""
        path.write_text(json.dumps({
            "kind": "Config", "current-context": "here", "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "me", "namespace": "team"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.authority.cert),
                                                   "tls-server-name": "kube.example.com", **cluster}}]}))
        return path


class Proxy:
    """An HTTP proxy on loopback that connects to one port, whatever it is asked for. A context manager."""

    def __init__(self, port):
        self.asked = []
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._agree(client)
            server = socket.create_connection(("127.0.0.1", self._port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _agree(self, client):
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            request += client.recv(4096)
        self.asked.append(request.decode())
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    @staticmethod
    def _pass_on(source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # either side may end first


class SocksProxy(Proxy):
    """The same by SOCKS5, for a user with a password. `asked` has user, password, and the name and port of the server."""

    def _agree(self, client):
        take = client.makefile("rb", buffering=0).read
        assert take(2)[0] == 5 and 2 in take(2)
        client.sendall(b"\5\2")
        assert take(1) == b"\1"
        login = [take(take(1)[0]).decode() for _ in range(2)]
        client.sendall(b"\1\0")
        assert take(4) == b"\5\1\0\3"
        self.asked.append((*login, take(take(1)[0]).decode(), int.from_bytes(take(2), "big")))
        client.sendall(b"\5\0\0\1" + bytes(6))


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def cluster(authority):
    with Cluster(authority) as server:
        yield server


def explain(kubeconfig, *arguments, **options):
    environment = {**os.environ, "HOME": "/nonexistent", "KUBECONFIG": str(kubeconfig), **options.pop("environment", {})}
    return subprocess.run([PROGRAM, "explain", "job", *arguments], capture_output=True, text=True, timeout=60, check=False,
                          **{"env": environment, "stdin": subprocess.DEVNULL, **options})


def succeeds(done):
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.startswith("TrainJob  team/job, created "), done.stdout
    return True


def fails(done, status, *words):
    assert (done.returncode, done.stdout) == (status, ""), done
    *others, line = done.stderr.splitlines()
    assert line.startswith("kubectl trainjob explain: ") and all(word in line for word in words), line
    return others


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_is_run_once_with_its_arguments_variables_and_the_cluster(cluster, tmp_path, version):
    plugin = CredentialPlugin(tmp_path / "plugin", [{"token": "good"}])
    user = plugin.user(version, args=["get-token", "--name", "a b"], provideClusterInfo=True)
    kubeconfig = cluster.kubeconfig(tmp_path / "config", user, extensions=[{
        "name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}])
    assert succeeds(explain(kubeconfig, environment={"FROM_OUTSIDE": "yes"}))
    (call,) = plugin.calls()
    assert len(cluster.seen) > 3
    assert call["arguments"] == ["get-token", "--name", "a b"] and call["environment"]["FROM_OUTSIDE"] == "yes"
    assert call["info"] == {"apiVersion": f"client.authentication.k8s.io/{version}", "kind": "ExecCredential", "spec": {"interactive": False, "cluster": {
        "server": f"https://127.0.0.1:{cluster.port}", "tls-server-name": "kube.example.com", "config": {"audience": "us"},
        "certificate-authority-data": base64.b64encode(cluster.authority.cert.read_bytes()).decode()}}}


def test_a_plugin_runs_again_after_a_401_and_after_the_end_of_its_token(cluster, tmp_path):
    plugin = CredentialPlugin(tmp_path / "plugin", [{"token": "stale"}, {"token": "good", "expirationTimestamp": "2026-01-15T10:00:00Z"},
                                                    {"token": "good"}])
    assert succeeds(explain(cluster.kubeconfig(tmp_path / "config", plugin.user())))
    assert len(plugin.calls()) == 3
    refused = [request["Authorization"] for request in cluster.seen[:2]]
    assert refused[0] == "Bearer stale" and set(request["Authorization"] for request in cluster.seen[1:]) == {"Bearer good"}


def test_a_token_that_stays_refused_is_asked_for_once_more_and_named(cluster, tmp_path):
    plugin = CredentialPlugin(tmp_path / "plugin", [{"token": "s3cret-1"}, {"token": "s3cret-2"}])
    done = explain(cluster.kubeconfig(tmp_path / "config", plugin.user()))
    assert fails(done, 1, "Unauthorized", "have they expired?") == []
    assert len(plugin.calls()) == 2 and "s3cret" not in done.stderr


def test_a_plugin_may_give_a_certificate(cluster, tmp_path):
    cert, key = cluster.authority.issue("jane", "jane")
    plugin = CredentialPlugin(tmp_path / "plugin", [{"clientCertificateData": cert.read_text(), "clientKeyData": key.read_text()}])
    assert succeeds(explain(cluster.kubeconfig(tmp_path / "config", plugin.user())))
    assert {request["Certificate"] for request in cluster.seen} == {"jane"}


def test_a_plugin_that_is_missing_is_named_with_its_install_hint(cluster, tmp_path):
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "gke-gcloud-auth-plugin-of-nowhere",
                     "installHint": "Install it by following\n\x1b[1mhttps://cloud.example.com"}}
    done = explain(cluster.kubeconfig(tmp_path / "config", user))
    assert fails(done, 2, "the credential plugin gke-gcloud-auth-plugin-of-nowhere was not found; "
                          "Install it by following [1mhttps://cloud.example.com") == []


def test_a_plugin_that_fails_says_why_itself(cluster, tmp_path):
    plugin = CredentialPlugin(tmp_path / "plugin", [{"exit": 254, "error": "Error loading SSO Token: it has expired"}])
    others = fails(explain(cluster.kubeconfig(tmp_path / "config", plugin.user())), 2, "ended with exit status 254")
    assert others == ["Error loading SSO Token: it has expired"] and cluster.seen == []


def test_a_full_disk_is_the_plugins_trouble_alone(cluster, tmp_path):
    """A process with a file limit of 0 can write to no file, as on a full disk. Plugins keep a cache beside the kubeconfig; kubectl-trainjob
    keeps nothing."""
    def fill_the_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    plugin = CredentialPlugin(tmp_path / "plugin", [{"token": "good"}])
    others = fails(explain(cluster.kubeconfig(tmp_path / "with-plugin", plugin.user()), preexec_fn=fill_the_disk), 2, "ended with exit status 1")
    assert "File too large" in others[-1] and cluster.seen == []
    assert succeeds(explain(cluster.kubeconfig(tmp_path / "config", {"token": "good"}), preexec_fn=fill_the_disk))


def test_a_plugin_talks_to_the_user_of_a_terminal(cluster, tmp_path):
    plugin = CredentialPlugin(tmp_path / "plugin", [{"ask": True}])
    kubeconfig = cluster.kubeconfig(tmp_path / "config", plugin.user(interactiveMode="Always"))
    assert fails(explain(kubeconfig), 2, "needs a terminal (interactiveMode: Always)") == []
    parent, child = pty.openpty()
    os.write(parent, b"good\n")
    done = explain(kubeconfig, stdin=child)
    os.close(parent)
    os.close(child)
    assert done.returncode == 0 and done.stderr == "Token: " and done.stdout.startswith("TrainJob  team/job")
    (call,) = plugin.calls()
    assert call["terminal"] and call["info"]["spec"]["interactive"]


def test_the_files_of_a_list_are_merged_with_paths_relative_to_each(cluster, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    (tmp_path / "two" / "token").write_text("good\n")
    (tmp_path / "one" / "token").write_text("bad")
    cluster.kubeconfig(tmp_path / "two" / "config", {"tokenFile": "token"})
    (tmp_path / "one" / "config").write_text(json.dumps({"users": [{"name": "other", "user": {"tokenFile": "token"}}], "contexts": [
        {"name": "there", "context": {"cluster": "c", "user": "other", "namespace": "team"}}]}))
    several = f"{tmp_path}/one/config:/no/such/file:{tmp_path}/two/config"
    assert succeeds(explain(several))
    assert fails(explain(several, "--context=there"), 1, "Unauthorized") == []
    assert succeeds(explain(several, "--context=there", "--user=me", "-n", "team"))
    assert fails(explain(several, "--context=nowhere"), 2, '--context names "nowhere", which is not in contexts; there are here, there') == []


def test_another_user_may_be_impersonated(cluster, tmp_path):
    kubeconfig = cluster.kubeconfig(tmp_path / "config", {"token": "good"})
    assert succeeds(explain(kubeconfig, "--as=jane", "--as-group=team"))
    assert {(request["Impersonate-User"], request["Impersonate-Group"]) for request in cluster.seen} == {("jane", "team")}


def test_a_proxy_of_the_kubeconfig_is_used_by_the_name_of_the_server(cluster, tmp_path):
    with Proxy(cluster.port) as proxy:
        kubeconfig = cluster.kubeconfig(tmp_path / "config", {"token": "good"}, server="https://kube.example.com:6443",
                                        **{"proxy-url": f"http://me:s3cret@127.0.0.1:{proxy.port}", "tls-server-name": ""})
        assert succeeds(explain(kubeconfig))
    credentials = base64.b64encode(b"me:s3cret").decode()
    assert set(proxy.asked) == {"CONNECT kube.example.com:6443 HTTP/1.1\r\nHost: kube.example.com:6443\r\n"
                                f"Proxy-Authorization: Basic {credentials}\r\n\r\n"}
    done = explain(cluster.kubeconfig(tmp_path / "config", {"token": "good"}, **{"proxy-url": "https://me:s3cret@h:1"}))
    assert fails(done, 2, "clusters[c].cluster.proxy-url must begin with http:// or socks5://") == [] and "s3cret" not in done.stderr


def test_a_socks_proxy_of_the_kubeconfig_looks_up_the_server(cluster, tmp_path):
    with SocksProxy(cluster.port) as proxy:
        url = f"socks5://me:s3cret@127.0.0.1:{proxy.port}"
        assert succeeds(explain(cluster.kubeconfig(tmp_path / "config", {"token": "good"}, server="https://kube.example.com:6443",
                                                   **{"proxy-url": url, "tls-server-name": ""})))
    assert set(proxy.asked) == {("me", "s3cret", "kube.example.com", 6443)}


def test_a_proxy_of_the_environment_is_used_as_by_kubectl(cluster, tmp_path):
    away = cluster.kubeconfig(tmp_path / "away", {"token": "good"}, server="https://kube.example.com:6443", **{"tls-server-name": ""})
    with Proxy(cluster.port) as proxy:
        assert succeeds(explain(away, environment={"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "example.org"}))
    assert set(proxy.asked) == {"CONNECT kube.example.com:6443 HTTP/1.1\r\nHost: kube.example.com:6443\r\n\r\n"}
    # This machine is reached without it.
    assert succeeds(explain(cluster.kubeconfig(tmp_path / "here", {"token": "good"}), environment={"HTTPS_PROXY": "http://127.0.0.1:1"}))


@pytest.mark.parametrize("user, words", [
    ({"username": "me", "password": "s3cret"}, "users[me].user.username is not supported by API servers since 1.19"),
    ({"auth-provider": {"name": "gcp", "config": {"access-token": "s3cret"}}}, "users[me].user.auth-provider is not supported any more"),
    ({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "aws"}}, "is v1alpha1, which Kubernetes removed in 1.24"),
])
def test_ways_to_log_in_that_are_gone_are_refused_with_the_reason(cluster, tmp_path, user, words):
    done = explain(cluster.kubeconfig(tmp_path / "config", user))
    assert fails(done, 2, words) == [] and "s3cret" not in done.stderr


def test_a_request_ends_with_its_time(authority, tmp_path):
    class Silent(Cluster):
        def answer(self, request, url, body):
            self.ended.wait()
    with Silent(authority) as server:
        done = explain(server.kubeconfig(tmp_path / "config", {"token": "good"}), "--request-timeout=1")
        assert fails(done, 1, "took too long") == []


def test_a_server_with_the_certificate_of_another_cluster_is_named_with_the_remedy(cluster, tmp_path, tmp_path_factory):
    other = Authority(tmp_path_factory.mktemp("other"))
    done = explain(cluster.kubeconfig(tmp_path / "config", {"token": "good"}, **{"certificate-authority": str(other.cert)}))
    assert fails(done, 1, "does the kubeconfig have the certificate-authority of this cluster?") == []
    done = explain(cluster.kubeconfig(tmp_path / "config", {"token": "good"}, **{"tls-server-name": "other.example.com"}))
    assert fails(done, 1, "does the kubeconfig have the right server or tls-server-name?") == []
