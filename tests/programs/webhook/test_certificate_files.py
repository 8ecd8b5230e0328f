"""Certificate files are replaced while calls continue: like a mounted Secret (cert-manager's way), and file by file. The webhook reads
them every 5 s, so one test covers both, and all visible effects of a replacement."""

import contextlib
import os
import ssl
import subprocess
import threading
import time

from webhook_program import RUNTIME_PATH, ApiServer, Webhook, make_certificate, review, runtime, wait_for

ROTATIONS = 2


class Calls:
    """Makes calls one after the other, on one open connection and on new ones. Collects the failures."""

    def __init__(self, webhook, trusted):
        self.webhook, self.over, self.failures, self.done = webhook, threading.Event(), [], 0
        self.context = ssl.create_default_context(cafile=trusted)
        webhook.tls = lambda client=None: self.context
        self.thread = threading.Thread(target=self.work)

    def work(self):
        with contextlib.closing(self.webhook.connect()) as kept:
            while not self.over.is_set():
                try:
                    for connection in (kept, None):
                        status, _, body = self.webhook.post(RUNTIME_PATH, review(runtime()), connection=connection)
                        assert status == 200 and body["response"]["allowed"]
                        self.done += 1
                except BaseException as failure:  # includes failed assertions
                    self.failures.append(failure)
                self.over.wait(0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def link(target, path):
    """Replaces a link in one step, like a kubelet."""
    os.symlink(target, path.with_name("new-link"))
    os.rename(path.with_name("new-link"), path)


def mount(directory, version, files):
    """Writes the next version of a mounted Secret. The files of the first version become links to it."""
    place = directory / f"..{version}"
    place.mkdir()
    for name, file in zip(("tls.crt", "tls.key"), files):
        (place / name).write_bytes(file.read_bytes())
    link(place.name, directory / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (directory / name).is_symlink():
            link(f"..data/{name}", directory / name)


def one_by_one(directory, version, files):
    """Replaces the files one by one: between the two writes they do not fit together."""
    for name, file in zip(("tls.key", "tls.crt"), reversed(files)):
        (directory / "next").write_bytes(file.read_bytes())
        os.rename(directory / "next", directory / name)


def shown(webhook):
    with webhook.socket() as connection:
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(True)).split()


def end_of(cert):
    text = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-in", cert], capture_output=True, text=True, check=True)
    return ssl.cert_time_to_seconds(text.stdout.strip().partition("=")[2])


def reported_end(webhook):
    return webhook.metric("signalbox_tls_certificate_not_after_seconds")


def test_replaced_files_are_used_without_a_restart_and_no_call_fails(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    versions = [make_certificate(made, f"version-{i}", days=9 + i) for i in range(ROTATIONS)]
    with contextlib.ExitStack() as stack:
        api = stack.enter_context(ApiServer())
        webhooks = []
        for replace in (mount, one_by_one):
            directory = tmp_path / replace.__name__
            directory.mkdir()
            webhooks.append((replace, directory, stack.enter_context(Webhook(directory, api.port, "--threads=2"))))
        trusted = made / "trusted"
        trusted.write_text("".join(cert.read_text() for cert in (webhooks[0][2].cert, *(cert for cert, _ in versions))))
        for replace, directory, webhook in webhooks:
            assert reported_end(webhook) == end_of(webhook.cert)
            if replace is mount:
                mount(directory, "first", (webhook.cert, webhook.key))
        with contextlib.ExitStack() as calling:
            running = [calling.enter_context(Calls(webhook, trusted)) for _, _, webhook in webhooks]
            for number, files in enumerate(versions):
                for replace, directory, _ in webhooks:
                    replace(directory, f"version-{number}", files)
                for (_, _, webhook), calls in zip(webhooks, running):
                    wait_for("it to be served", lambda: shown(webhook) == files[0].read_text().split())
                    assert reported_end(webhook) == end_of(files[0]) > time.time() + 8 * 86400
                    done = calls.done
                    wait_for("more calls", lambda: calls.done > done + 20 or calls.failures)
        for calls in running:
            assert calls.failures == []
        # An expired certificate is reported: this one ends before it begins.
        expired = make_certificate(made, "expired", days=-1)
        for replace, directory, webhook in webhooks:
            assert webhook.admin("/readyz")[0] == 200
            replace(directory, "expired", expired)
        for _, _, webhook in webhooks:
            def why_not_ready():
                status, reasons = webhook.admin("/readyz")
                return reasons if status == 503 else ""
            wait_for("it to report the expiry", lambda: "certificate has expired" in why_not_ready())
            assert webhook.admin("/healthz")[0] == 200
            assert webhook.end() == 0
