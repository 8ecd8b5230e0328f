"""The certificate that signalbox-webhook --serve=progress makes, keeps in a Secret and renews, and clients that read its CA once."""

import base64
import contextlib
import http.client
import json
import socket
import ssl

from progress_program import NAME, ApiServer, Server, report, token_of
from webhook_program import wait_for


def context_of(api):
    """Returns what a client of today's Python makes of the CAs that Pods get."""
    context = ssl.create_default_context(cadata=base64.b64decode(api.secret["data"]["ca.crt"]).decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shown_certificate(server, context):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain, context.wrap_socket(plain, server_hostname=NAME) as tls:
        return tls.getpeercert(binary_form=True)


def test_a_certificate_is_made_kept_in_a_secret_and_shared(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with ApiServer() as api, Server(tmp_path / "a", api, in_secret=True) as one, Server(tmp_path / "b", api, in_secret=True) as two:
        for server in (one, two):
            wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        context = context_of(api)
        assert shown_certificate(one, context) == shown_certificate(two, context)
        assert api.secret["type"] == "kubernetes.io/tls"
        assert set(api.secret["data"]) == {"tls.crt", "tls.key", "ca.crt", "ca.key"}
        key = base64.b64decode(api.secret["data"]["ca.key"]).decode().splitlines()[1]
        assert key not in json.dumps(one.log() + two.log())


def test_no_report_fails_while_the_certificate_is_renewed(tmp_path):
    """A client with the CA as it was at its start, as training code that reads it once."""
    with ApiServer() as api, Server(tmp_path, api, "--cert-lifetime=30s", "--progress-source-rate=0", in_secret=True) as server:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        context = context_of(api)
        token, seen = token_of("renewed"), set()

        def report_again():
            with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=20, context=context)) as connection:
                plain = socket.create_connection(("127.0.0.1", server.port), timeout=20)
                connection.sock = context.wrap_socket(plain, server_hostname=NAME)
                seen.add(connection.sock.getpeercert(binary_form=True))
                assert server.post("renewed", report(1), token, connection)[0] == 200
            return len(seen) == 3
        report_again()
        for already in (1, 2):
            # As if it were due.
            api.secret["data"]["tls.crt"] = ""
            wait_for("another certificate", lambda already=already: report_again() or len(seen) > already, interval=0.02)
        assert len(seen) == 3


def test_without_a_stored_certificate_the_server_is_not_ready(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-cert-secret=other/cert", "--progress-service=ns/progress",
                                    in_secret=True) as server:
        wait_for("a reason", lambda: "no certificate for progress is stored yet" in server.admin("/readyz")[1], interval=0.02)
        assert server.admin("/readyz")[0] == 503
