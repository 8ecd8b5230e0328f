"""certs/make-development-certificates makes the files that a TLS server and the API server need, and protects the keys."""

import base64
import stat
import subprocess

import pytest

from paths import ROOT

SCRIPT = ROOT / "certs" / "make-development-certificates"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("certs") / "new"
    run = subprocess.run([SCRIPT, "--out", out, "--ip", "127.0.0.1"], capture_output=True, text=True, check=True)
    return out, run.stdout


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=True).stdout


def test_the_certificate_is_signed_by_the_authority(made):
    out, _ = made
    assert openssl("verify", "-purpose", "sslserver", "-CAfile", out / "ca.crt", out / "tls.crt").endswith("OK\n")


def test_the_certificate_names_the_service_and_the_address(made):
    out, _ = made
    names = openssl("x509", "-in", out / "tls.crt", "-noout", "-ext", "subjectAltName")
    for name in ("DNS:signalbox-webhook.kubeflow-system.svc", "DNS:signalbox-webhook.kubeflow-system.svc.cluster.local",
                 "IP Address:127.0.0.1"):
        assert name in names


def test_it_prints_the_ca_bundle(made):
    out, printed = made
    assert base64.b64decode(printed) == (out / "ca.crt").read_bytes()


def test_no_key_but_the_servers_is_left_and_only_the_owner_reads_it(made):
    out, _ = made
    assert {path.name for path in out.iterdir()} == {"ca.crt", "tls.crt", "tls.key"}
    assert stat.S_IMODE((out / "tls.key").stat().st_mode) == 0o600
    assert "PRIVATE KEY" not in (out / "ca.crt").read_text()


@pytest.mark.parametrize("arguments", [[], ["--out"], ["--wrong", "x"]])
def test_wrong_usage_is_an_error(arguments):
    run = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)
    assert run.returncode == 2 and "--out DIR" in run.stderr
