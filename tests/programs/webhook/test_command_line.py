"""Start, options and end of signalbox-webhook."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time

import pytest
from webhook_program import (BINARY, GROUP, RUNTIME_PATH, TRAIN_JOB_PATH, ApiServer, Webhook, free_port,
                          make_certificate, review, runtime, train_job, wait_for, write_kubeconfig)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good files and bad ones."""
    directory = tmp_path_factory.mktemp("files")
    cert, key = make_certificate(directory)
    other, _ = make_certificate(directory, "other")
    texts = {"empty": "", "text": "hello", "broken.yaml": "a: [", "list.yaml": "[1]", "colour.yaml": "colour: red",
             "port.yaml": "listen: nowhere", "context": "apiVersion: v1\nkind: Config\n"}
    for name, text in texts.items():
        (directory / name).write_text(text)
    good = {"--kubeconfig": write_kubeconfig(directory, 1), "--listen": "127.0.0.1:0", "--admin-listen": "127.0.0.1:0",
            "--tls-cert": cert, "--tls-key": key}
    return directory, good, other


def run(*arguments, env=None):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=20, env=env)


def start(good, changes):
    options = {**good, **changes}
    return run(*(f"{name}={value}" for name, value in options.items() if value is not None))


def complaint(result):
    """Returns the one line with the error."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("signalbox-webhook: "), lines
    assert result.stdout == ""
    return lines[0]


@pytest.mark.parametrize("arguments,words", [
    (["--lisen=:1"], ["--lisen", "did you mean --listen?"]),
    (["--cert-secret", "a/b/c"], ["--cert-secret", "a/b/c"]),
    (["--frobnicate"], ["--frobnicate", "--help"]),
    (["serve"], ["serve"]),
    (["--listen"], ["--listen", "HOST:PORT"]),
    (["--listen", "nowhere"], ["--listen", "nowhere"]),
    (["--listen", "127.0.0.1:99999"], ["--listen", "99999"]),
    (["--threads", "many"], ["--threads", "many"]),
    (["--tls-min-version=1.1"], ["--tls-min-version=1.1", "1.2", "1.3"]),
    (["--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"], ["--tls-cipher-suites=", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]),
    (["--log-level", "loud"], ["--log-level", "loud", "debug"]),
    (["--config", "FILES/missing.yaml"], ["--config", "missing.yaml"]),
    (["--config", "FILES/broken.yaml"], ["--config", "broken.yaml"]),
    (["--config", "FILES/list.yaml"], ["--config", "list.yaml"]),
    (["--config", "FILES/colour.yaml"], ["colour.yaml", "colour"]),
    (["--config", "FILES/port.yaml"], ["port.yaml", "listen"]),
])
def test_bad_usage_ends_with_2(files, arguments, words):
    result = run(*(a.replace("FILES", str(files[0])) for a in arguments))
    assert result.returncode == 2
    line = complaint(result)
    for word in words:
        assert word in line


@pytest.mark.parametrize("changes,words", [
    ({"--tls-cert": None}, ["--tls-cert is missing"]),
    ({"--tls-key": None}, ["--tls-key is missing"]),
    ({"--threads": 0}, ["--threads", "1 to 256"]),
    ({"--self-signed": "true"}, ["--self-signed", "--tls-cert"]),
    ({"--kubeconfig": "FILES/missing"}, ["FILES/missing", "does not exist"]),
    ({"--kubeconfig": "FILES"}, ["FILES"]),
    ({"--kubeconfig": "FILES/broken.yaml"}, ["FILES/broken.yaml"]),
    ({"--kubeconfig": "FILES/context"}, ["FILES/context", "current-context", "kubectl config use-context"]),
    ({"--kubeconfig": None}, ["--kubeconfig"]),
    ({"--tls-cert": "FILES/missing"}, ["FILES/missing", "does not exist"]),
    ({"--tls-cert": "FILES/text"}, ["FILES/text", "PEM"]),
    ({"--tls-cert": "FILES/empty"}, ["FILES/empty", "PEM"]),
    ({"--tls-key": "FILES/missing"}, ["FILES/missing", "does not exist"]),
    ({"--tls-key": "FILES/text"}, ["FILES/text", "PEM"]),
    ({"--tls-cert": "FILES/other.crt"}, ["FILES/tls.key", "FILES/other.crt"]),
    ({"--client-ca": "FILES/missing"}, ["FILES/missing", "does not exist"]),
    ({"--client-ca": "FILES/empty"}, ["FILES/empty", "CA"]),
    ({"--client-ca": "FILES/text"}, ["FILES/text", "CA"]),
    ({"--listen": "203.0.113.7:0"}, ["203.0.113.7", "address of this machine"]),
])
def test_settings_that_cannot_work_end_with_1(files, changes, words):
    directory, good, _ = files
    here = lambda text: str(text).replace("FILES", str(directory))
    result = start(good, {k: v and here(v) if v is not None and k != "--threads" else v for k, v in changes.items()})
    assert result.returncode == 1, result
    line = complaint(result)
    for word in words:
        assert here(word) in line


@pytest.mark.parametrize("option", ["--listen", "--admin-listen"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_port_in_use_is_named(files, option, threads):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = start(files[1], {option: address, "--threads": threads})
    assert result.returncode == 1
    line = complaint(result)
    assert address in line and "in use" in line


def test_the_port_of_another_webhook_is_in_use_as_well(files, tmp_path):
    with Webhook(tmp_path, free_port(), "--threads=2") as webhook:
        result = start(files[1], {"--listen": f"127.0.0.1:{webhook.port}", "--threads": 2})
    assert result.returncode == 1
    assert "in use" in complaint(result)


def test_help_names_every_option(files):
    result = run("--help")
    assert result.returncode == 0 and result.stderr == ""
    for option in ("kubeconfig", "listen", "tls-cert", "tls-key", "client-ca", "token-audience", "token-users", "lossy-clients", "admin-listen", "threads", "log-level",
                   "self-signed", "cert-secret", "service", "cert-lifetime", "max-connections", "source-rate", "max-bytes-in-flight",
                   "header-timeout", "shutdown-delay", "log-format", "config", "version", "help"):
        assert f"--{option} " in result.stdout or f"--{option}\n" in result.stdout
    assert run("--version").stdout.startswith("signalbox-webhook ")


def test_options_come_from_a_file_too(files, tmp_path):
    config = tmp_path / "webhook.yaml"
    config.write_text(json.dumps({"threads": 0}))
    result = start(files[1], {"--config": config})
    assert result.returncode == 1
    assert "--threads" in complaint(result)


def not_ready(webhook):
    status, reasons = webhook.admin("/readyz")
    assert webhook.admin("/healthz")[0] == 200
    return reasons if status == 503 else ""


def test_without_an_api_server_it_serves_and_waits(tmp_path):
    port = free_port()
    with Webhook(tmp_path, port) as webhook:
        wait_for("both watches to fail", lambda: len(webhook.logged("cannot watch; trying again")) == 2)
        reasons = not_ready(webhook)
        assert {"clustertrainingruntimes", "trainingruntimes"} <= {*re.findall(r"\w+", reasons)}

        # A review without a lookup is answered. One with a lookup is denied, and can be retried.
        assert webhook.post(RUNTIME_PATH, review(runtime()))[2]["response"]["allowed"]
        for _ in range(3):
            refused = webhook.post(TRAIN_JOB_PATH, review(train_job()))[2]["response"]
            assert not refused["allowed"] and refused["status"]["code"] == 503
            # Callers may be unauthenticated, so the API server's message is only in the log.
            assert "could not be read from the API server" in refused["status"]["message"]
            assert "clustertrainingruntimes" not in refused["status"]["message"]
        lines = webhook.logged("cannot look up what reviews need; refusing those")
        assert 1 <= len(lines) <= 2 and "clustertrainingruntimes" in str(lines[0])  # one per thread

        with ApiServer(port):
            webhook.wait_until_ready()
            assert len(webhook.logged("watching")) == 2
            assert len(webhook.logged("cannot watch; trying again")) == 2
            assert webhook.post(TRAIN_JOB_PATH, review(train_job()))[2]["response"]["status"]["code"] == 422
            assert webhook.end() == 0


def test_without_the_crds_it_serves_and_waits(tmp_path):
    with ApiServer() as api:
        api.installed = False
        with Webhook(tmp_path, api.port) as webhook:
            wait_for("both watches to fail", lambda: len(webhook.logged("cannot watch; trying again")) == 2)
            time.sleep(2)  # several attempts, one line
            assert len(webhook.logged("cannot watch; trying again")) == 2
            assert "no list yet" in not_ready(webhook)
            api.installed = True
            webhook.wait_until_ready()
            assert webhook.end() == 0


def test_it_is_ready_soon_and_says_where_it_listens(tmp_path):
    with ApiServer() as api, Webhook(tmp_path, api.port) as webhook:
        webhook.wait_until_ready()
        listening = {line["what"]: line["address"] for line in webhook.logged("listening")}
        assert listening == {"admission": f"127.0.0.1:{webhook.port}", "admin": f"127.0.0.1:{webhook.admin_port}"}
        assert webhook.metric("signalbox_runtimes") == 0
        assert webhook.metric("signalbox_tls_certificate_not_after_seconds") > time.time()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_it_well(tmp_path, number, threads):
    with ApiServer() as api, Webhook(tmp_path, api.port, f"--threads={threads}") as webhook:
        webhook.wait_until_ready()
        idle = webhook.connect()
        webhook.post(RUNTIME_PATH, review(runtime()), connection=idle)
        began = time.monotonic()
        assert webhook.end(number) == 0
        assert time.monotonic() - began < 10
        assert webhook.logged("stopping")[0]["signal"] == number
        assert webhook.log()[-1]["msg"] == "stopped"
        idle.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_requests_under_way_are_answered_before_the_end(tmp_path, threads):
    with ApiServer() as api, Webhook(tmp_path, api.port, f"--threads={threads}") as webhook:
        webhook.wait_until_ready()
        api.objects[f"{GROUP}/clustertrainingruntimes/plain"] = runtime()
        api.delay = 1.5
        answers = []
        asking = threading.Thread(target=lambda: answers.append(webhook.post(TRAIN_JOB_PATH, review(train_job()))))
        asking.start()
        wait_for("the lookup", lambda: api.gets)
        webhook.process.send_signal(signal.SIGTERM)
        wait_for("it to be not ready", lambda: "shutting down" in not_ready(webhook))
        asking.join()
        assert webhook.process.wait(10) == 0
        status, headers, body = answers[0]
        assert status == 200 and body["response"]["allowed"]
        assert headers["Connection"] == "close"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_second_signal_ends_it_at_once_and_says_so(tmp_path, threads):
    with ApiServer() as api, Webhook(tmp_path, api.port, f"--threads={threads}") as webhook:
        webhook.wait_until_ready()
        api.delay = 20
        def ask():
            with contextlib.suppress(OSError, http.client.HTTPException):
                webhook.post(TRAIN_JOB_PATH, review(train_job()))
        asking = threading.Thread(target=ask)
        asking.start()
        wait_for("the lookup", lambda: api.gets)
        webhook.process.send_signal(signal.SIGTERM)
        wait_for("it to be not ready", lambda: "shutting down" in not_ready(webhook))
        webhook.process.send_signal(signal.SIGTERM)
        assert webhook.process.wait(15) == 1
        assert webhook.log()[-1]["msg"] == "a second signal: ending at once"
        asking.join()


def test_a_signal_during_the_start_is_not_lost(tmp_path):
    # There is no API server, so the webhook is still starting when the signal arrives.
    with Webhook(tmp_path, free_port()) as webhook:
        assert webhook.end() == 0


def test_signals_after_the_orderly_end_do_not_change_the_exit_status(tmp_path):
    for _ in range(5):
        with ApiServer() as api, Webhook(tmp_path, api.port, "--threads=2") as webhook:
            webhook.wait_until_ready()
            webhook.process.send_signal(signal.SIGTERM)
            wait_for("the end", lambda: webhook.logged("stopped"), interval=0.001)
            while webhook.process.poll() is None:
                webhook.process.send_signal(signal.SIGTERM)
            assert webhook.process.returncode == 0


def test_it_serves_on_for_a_while_after_the_signal(tmp_path):
    with ApiServer() as api, Webhook(tmp_path, api.port, "--threads=2", "--shutdown-delay=4s") as webhook:
        webhook.wait_until_ready()
        kept = webhook.connect()
        webhook.post(RUNTIME_PATH, review(runtime()), connection=kept)
        webhook.process.send_signal(signal.SIGTERM)
        wait_for("it to be not ready", lambda: "shutting down" in not_ready(webhook))
        # Old and new connections are served as before, until responses close them.
        status, headers, _ = webhook.post(RUNTIME_PATH, review(runtime()), connection=kept)
        assert status == 200 and headers["Connection"] is None
        assert webhook.post(RUNTIME_PATH, review(runtime()))[0] == 200
        wait_for("responses that close the connection", lambda: webhook.post(RUNTIME_PATH, review(runtime()))[1]["Connection"] == "close",
                 interval=0.05)
        assert webhook.post(RUNTIME_PATH, review(runtime()), connection=kept)[1]["Connection"] == "close"
        kept.close()
        assert webhook.process.wait(20) == 0
