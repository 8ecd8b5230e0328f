"""What a scanner learns about the admission port: its TLS versions and ciphers, and its answers to unauthenticated requests."""

import http.client
import json
import subprocess

import pytest
from webhook_program import RUNTIME_PATH, ApiServer, Webhook, review, runtime

AEAD_1_2 = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"]
REFUSED_1_2 = ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA", "AES128-GCM-SHA256", "AES256-SHA", "ECDHE-ECDSA-AES128-CCM",
               "NULL-SHA256", "DHE-RSA-AES128-GCM-SHA256", "ADH-AES128-GCM-SHA256"]
SUITES_1_3 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]


@pytest.fixture(scope="module")
def webhook(tmp_path_factory):
    with ApiServer() as api, Webhook(tmp_path_factory.mktemp("scan"), api.port) as webhook:
        webhook.wait_until_ready()
        yield webhook


def talk(webhook, *options, say=b""):
    """Returns the output of `openssl s_client`. SECLEVEL=0, so that only the server refuses."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{webhook.port}", *options], input=say,
                          capture_output=True, timeout=30)
    return (done.stdout + done.stderr).decode(errors="replace")


def agreed(text):
    """Returns the cipher of a handshake that succeeded; empty if there was none."""
    for line in text.splitlines():
        if line.startswith("New, ") and "(NONE)" not in line:
            return line.rpartition(" ")[2]
    return ""


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
def test_old_versions_are_refused(webhook, version):
    assert agreed(talk(webhook, version, "-cipher", "ALL:@SECLEVEL=0")) == ""


def test_the_newest_version_is_preferred(webhook):
    assert "New, TLSv1.3" in talk(webhook)


@pytest.mark.parametrize("cipher", AEAD_1_2)
def test_suites_of_tls_1_2_with_authenticated_encryption_are_spoken(webhook, cipher):
    assert agreed(talk(webhook, "-tls1_2", "-cipher", cipher)) == cipher


@pytest.mark.parametrize("cipher", REFUSED_1_2)
def test_other_suites_of_tls_1_2_are_refused(webhook, cipher):
    assert agreed(talk(webhook, "-tls1_2", "-cipher", cipher + ":@SECLEVEL=0")) == ""


@pytest.mark.parametrize("suite", SUITES_1_3)
def test_suites_of_tls_1_3_are_spoken(webhook, suite):
    assert agreed(talk(webhook, "-tls1_3", "-ciphersuites", suite)) == suite


def test_a_policy_limits_version_and_suites(tmp_path):
    with ApiServer() as api, Webhook(tmp_path, api.port, "--tls-min-version=1.3",
                                     "--tls-cipher-suites=TLS_AES_256_GCM_SHA384") as webhook:
        webhook.wait_until_ready()
        assert agreed(talk(webhook, "-tls1_2")) == ""
        assert agreed(talk(webhook, "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256")) == ""
        assert agreed(talk(webhook)) == "TLS_AES_256_GCM_SHA384"


def test_weak_groups_are_refused(webhook):
    assert agreed(talk(webhook, "-groups", "P-521")) == ""
    assert agreed(talk(webhook, "-groups", "P-256")) != ""


def test_nothing_optional_is_offered(webhook):
    text = talk(webhook, "-tls1_2")
    assert "Compression: NONE" in text
    assert "Secure Renegotiation IS supported" in text
    assert "TLS session ticket:" not in text
    assert "Session-ID: \n" in text
    assert "TLS session ticket:" not in talk(webhook, "-tls1_3", say=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def test_early_data_is_not_accepted(webhook):
    assert "Max Early Data" not in talk(webhook, "-tls1_3") or "Max Early Data: 0" in talk(webhook, "-tls1_3")


def test_other_protocols_are_refused(webhook):
    assert agreed(talk(webhook, "-alpn", "h2")) == ""
    assert "ALPN protocol: http/1.1" in talk(webhook, "-alpn", "h2,http/1.1")


@pytest.mark.parametrize("method,path,body", [
    ("GET", "/", None), ("GET", "/version", None), ("GET", "/metrics", None), ("POST", RUNTIME_PATH, "no"),
    ("POST", RUNTIME_PATH, json.dumps(review(runtime(replicas=7)))), ("PUT", RUNTIME_PATH, "x")])
def test_answers_reveal_nothing_about_the_server(webhook, method, path, body):
    connection = webhook.connect()
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert {name.lower() for name in answer.headers} <= {"date", "content-type", "content-length", "connection", "allow"}
    for word in ("signalbox/", "OpenSSL", "Beast", "boost", "GCC", "0x", "/home", "/root", ".cpp"):
        assert word not in text


def test_a_broken_request_is_not_quoted(webhook):
    connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, context=webhook.tls(), timeout=10)
    secret = "s3cr3t" * 20
    connection.request("POST", RUNTIME_PATH, json.dumps({"token": secret}), {"Content-Type": "application/json"})
    assert secret not in connection.getresponse().read().decode()
    connection.close()
