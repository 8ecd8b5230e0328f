"""Certificate files that are replaced while calls go on: as a mounted Secret changes (cert-manager's way), and file by file."""

import contextlib
import os
import ssl
import threading

import pytest
from webhook_program import RUNTIME_PATH, ApiServer, Webhook, make_certificate, review, runtime, wait_for

ROTATIONS = 3


class Calls:
    """Without a pause, on one connection that is kept and on new ones; what failed."""

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
                except BaseException as failure:  # also of an assertion
                    self.failures.append(failure)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def link(target, path):
    """In one step, as the kubelet does it."""
    os.symlink(target, path.with_name("new-link"))
    os.rename(path.with_name("new-link"), path)


def mount(directory, version, files):
    """The next version of a mounted Secret."""
    place = directory / f"..{version}"
    place.mkdir()
    for name, file in zip(("tls.crt", "tls.key"), files):
        (place / name).write_bytes(file.read_bytes())
    link(place.name, directory / "..data")


def one_by_one(directory, version, files):
    """Between the two, they do not belong together."""
    for name, file in zip(("tls.key", "tls.crt"), reversed(files)):
        (directory / "next").write_bytes(file.read_bytes())
        os.rename(directory / "next", directory / name)


def shown(webhook):
    with webhook.socket() as connection:
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(True)).split()


@pytest.mark.parametrize("replace", [mount, one_by_one])
def test_no_call_fails_while_files_are_replaced(tmp_path, replace):
    made = tmp_path / "made"
    made.mkdir()
    versions = [make_certificate(made, f"version-{i}") for i in range(ROTATIONS)]
    with ApiServer() as api, Webhook(tmp_path, api.port, "--threads=2") as webhook:
        (made / "trusted").write_text("".join(cert.read_text() for cert in (webhook.cert, *(cert for cert, _ in versions))))
        if replace is mount:
            mount(tmp_path, "first", (webhook.cert, webhook.key))
            for file in (webhook.cert, webhook.key):
                link(f"..data/{file.name}", file)
        with Calls(webhook, made / "trusted") as calls:
            for number, files in enumerate(versions):
                replace(tmp_path, f"version-{number}", files)
                wait_for("it to be shown", lambda: shown(webhook) == files[0].read_text().split())
                done = calls.done
                wait_for("more calls", lambda: calls.done > done + 20 or calls.failures)
        assert calls.failures == []
        assert webhook.end() == 0
