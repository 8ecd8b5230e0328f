"""Keys and certificates of one control plane: one CA for everything, as in small clusters."""

import pathlib
import subprocess

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """A CA in a directory, made by the openssl command. hosts: further names for its own certificate. rsa: its key is an RSA key in the
    traditional format."""

    def __init__(self, directory, common_name="test-cluster-ca", days=30, hosts=(), rsa=False):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.cert = self.directory / "ca.crt"
        self.key = self.directory / "ca.key"
        self._days = str(days)
        names = ("-addext", _names(hosts)) if hosts else ()
        if rsa:
            _openssl("genrsa", "-traditional", "-out", self.key, "2048")
        key = ("-new", "-key", self.key) if rsa else (*_NEW_KEY, "-keyout", self.key)
        _openssl("req", "-x509", *key, "-days", self._days, "-subj", f"/CN={common_name}", *names, "-out", self.cert)

    def issue(self, name, common_name, organization="", hosts=()):
        """Returns (certificate, key) for a client, or for a server at `hosts`."""
        key, request, cert, extensions = (self.directory / f"{name}.{suffix}" for suffix in ("key", "csr", "crt", "ext"))
        subject = (f"/O={organization}" if organization else "") + f"/CN={common_name}"
        _openssl("req", "-new", *_NEW_KEY, "-subj", subject, "-keyout", key, "-out", request)
        extensions.write_text("extendedKeyUsage=clientAuth,serverAuth\n" + (_names(hosts) + "\n" if hosts else ""))
        _openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", self._days,
                 "-extfile", extensions, "-out", cert)
        return cert, key

    def make_signing_key(self, name):
        """Returns a private key without a certificate, as needed to sign service account tokens."""
        key = self.directory / name
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        return key


def _names(hosts):
    return "subjectAltName=" + ",".join(f"IP:{h}" if h[0].isdigit() else f"DNS:{h}" for h in hosts)


def _openssl(*arguments):
    try:
        run = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError("there is no openssl command; run scripts/setup, which installs it") from None
    if run.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {run.stderr.strip()}")
