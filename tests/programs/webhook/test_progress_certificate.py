"""The certificate that signalbox-webhook --serve=progress makes, keeps in a Secret and renews, and clients that read its CA once."""

import concurrent.futures
import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest
from progress_program import NAME, ApiServer, Server, report, token_of
from webhook_program import make_certificate, wait_for


def authorities_of(api):
    """Returns the CAs that Pods get."""
    return api.secret_member("ca.crt")


def context_of(authorities):
    """Returns what a client of today's Python makes of CAs."""
    context = ssl.create_default_context(cadata=authorities)
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
        context = context_of(authorities_of(api))
        assert shown_certificate(one, context) == shown_certificate(two, context)
        assert api.secret["type"] == "kubernetes.io/tls"
        assert set(api.secret["data"]) == {"tls.crt", "tls.key", "ca.crt", "ca.key"}
        key = api.secret_member("ca.key").splitlines()[1]
        assert key not in json.dumps(one.log() + two.log())


class Reporter:
    """Training code that reports for a job of its own, over a new connection each time, until end(). It trusts what mounted() returns: as
    it was at its start if `reads_once`, or at each report."""

    def __init__(self, pool, server, job, mounted, reads_once):
        self._server, self._job, self._mounted, self._once = server, job, mounted, mounted() if reads_once else None
        self.seen = set()  # certificates of the server
        self._ended = threading.Event()
        self._future = pool.submit(self._run)
        wait_for("its first report", lambda: self.sees(1), interval=0.02)

    def _run(self):
        token = token_of(self._job)
        while not self._ended.is_set():
            context = context_of(self._once or self._mounted())
            with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", self._server.port, timeout=20, context=context)) as connection:
                plain = socket.create_connection(("127.0.0.1", self._server.port), timeout=20)
                connection.sock = context.wrap_socket(plain, server_hostname=NAME)
                self.seen.add(connection.sock.getpeercert(binary_form=True))
                assert self._server.post(self._job, report(1), token, connection)[0] == 200

    def end(self):
        """Returns how many certificates it has seen. Raises if a report failed."""
        self._ended.set()
        self._future.result()
        return len(self.seen)

    def sees(self, count):
        return len(self.seen) >= count or self._future.done()


def reissued(directory, authority, key, begins, ends):
    """Returns that CA, whose key this is, with other dates, for example "20260115000000Z"."""
    (directory / "index").write_text("")
    (directory / "authority").write_text(authority)
    (directory / "key").write_text(key)
    (directory / "config").write_text(f"""
        [ca]
        default_ca = here
        [here]
        database = {directory}/index
        new_certs_dir = {directory}
        rand_serial = yes
        default_md = sha256
        policy = names
        x509_extensions = extensions
        [names]
        commonName = supplied
        [extensions]
        basicConstraints = critical,CA:true
        keyUsage = critical,keyCertSign
        subjectKeyIdentifier = hash
        """)
    subprocess.run(f"""openssl x509 -x509toreq -in authority -signkey key -out request &&
                       openssl ca -batch -selfsign -notext -config config -keyfile key -startdate {begins} -enddate {ends} -in request -out aged""",
                   shell=True, check=True, capture_output=True, cwd=directory)
    return (directory / "aged").read_text()


def blocks(text):
    return re.findall(r"-----BEGIN .*?-----END [A-Z ]+-----\n", text, re.DOTALL)


def date(days):
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400))


def test_no_report_fails_while_certificates_and_cas_are_rotated(tmp_path):
    """Pods report all the time, with the CAs that are mounted. Years pass by CAs that are issued again with other dates."""
    with ApiServer() as api, concurrent.futures.ThreadPoolExecutor(4) as pool, \
            Server(tmp_path, api, "--cert-lifetime=30s", "--progress-source-rate=0", in_secret=True) as server:
        wait_for("readiness", lambda: server.admin("/readyz")[0] == 200, interval=0.02)
        mounted = [authorities_of(api)]
        short, long = (Reporter(pool, server, job, lambda: mounted[0], once) for job, once in (("reads-once", True), ("reads-again", False)))
        latest = None

        def until_rotated(reporters, count, **changes):
            # As if the certificate were due.
            api.change_secret(**{"tls.crt": "", **changes})
            for reporter in reporters:
                wait_for("another certificate", lambda: reporter.sees(count), interval=0.02)
        try:
            until_rotated((short, long), 2)
            # Nine years later: another CA is trusted, too, and the old one still issues the certificate.
            first = reissued(tmp_path, mounted[0], api.secret_member("ca.key"), date(-9.5 * 365), date(300))
            until_rotated((short, long), 3, **{"ca.crt": first})
            assert short.end() >= 3
            wait_for("the second CA", lambda: len(blocks(authorities_of(api))) == 2, interval=0.02)
            mounted[0] = authorities_of(api)
            latest = Reporter(pool, server, "started-later", lambda: mounted[0], reads_once=True)
            # Three months later the new one issues it.
            second = (blocks(api.secret_member(name))[1] for name in ("ca.crt", "ca.key"))
            both = first + reissued(tmp_path, *second, date(-92), date(3558))
            until_rotated((long,), 4, **{"ca.crt": both})
            wait_for("another certificate", lambda: latest.sees(2), interval=0.02)
            with pytest.raises(ssl.SSLCertVerificationError):
                shown_certificate(server, context_of(first))
            shown_certificate(server, context_of(mounted[0]))
        finally:
            for reporter in filter(None, (short, long, latest)):
                reporter.end()


def test_without_a_stored_certificate_the_server_is_not_ready(tmp_path):
    with ApiServer() as api, Server(tmp_path, api, "--progress-cert-secret=other/cert", "--progress-service=ns/progress",
                                    in_secret=True) as server:
        wait_for("a reason", lambda: "no certificate for progress is stored yet" in server.admin("/readyz")[1], interval=0.02)
        assert server.admin("/readyz")[0] == 503


def test_certificate_files_that_are_replaced_are_shown(tmp_path):
    """As where cert-manager renews the Secret that is mounted. The files are read every five seconds."""
    with ApiServer() as api, Server(tmp_path, api, "--progress-source-rate=0") as server:
        assert server.post("filed", report(1))[0] == 200
        # Trusted from now on; the former one is self-signed, too.
        (tmp_path / "next").mkdir()
        cert, key = make_certificate(tmp_path / "next")
        for file, shown in ((key, server.key), (cert, server.cert)):
            file.rename(shown)

        def is_accepted():
            with contextlib.suppress(ssl.SSLCertVerificationError):
                return server.post("filed", report(2))[0] == 200
        wait_for("the new certificate", is_accepted, interval=0.1)
