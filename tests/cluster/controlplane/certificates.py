"""Keys and certificates of one control plane: one CA for everything, as small clusters have it."""

import pathlib
import subprocess


class Authority:
    """A CA in a directory, by the openssl command."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.cert = self.directory / "ca.crt"
        self._key = self.directory / "ca.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                 "-subj", "/CN=test-cluster-ca", "-keyout", self._key, "-out", self.cert)

    def issue(self, name, common_name, organization="", hosts=()):
        """(certificate, key) for a client, or for a server that is reached by `hosts`."""
        key, request, cert = (self.directory / f"{name}.{suffix}" for suffix in ("key", "csr", "crt"))
        subject = (f"/O={organization}" if organization else "") + f"/CN={common_name}"
        _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
                 "-keyout", key, "-out", request)
        extensions = self.directory / f"{name}.ext"
        names = ",".join(f"IP:{h}" if h[0].isdigit() else f"DNS:{h}" for h in hosts)
        extensions.write_text("extendedKeyUsage=clientAuth,serverAuth\n" + (f"subjectAltName={names}\n" if names else ""))
        _openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self._key, "-CAcreateserial", "-days", "30",
                 "-extfile", extensions, "-out", cert)
        return cert, key


def make_service_account_key(path):
    _openssl("genrsa", "-out", path, "2048")


def _openssl(*arguments):
    run = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {run.stderr.strip()}")
