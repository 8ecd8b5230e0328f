"""A real sshd on loopback that stands for the nodes of an MPI job, and an `ssh` that connects to it for every host name."""

import os
import pathlib
import socket
import subprocess

from controlplane.processes import Process
from rest import wait_for

MODES = {"id_rsa": 0o600, "id_rsa.pub": 0o644, "authorized_keys": 0o644}


class Sshd:
    """Admits the keys of the file authorized_keys in `keys`: {file name: bytes}. A context manager."""

    def __init__(self, directory, keys):
        self._directory = pathlib.Path(directory)
        self._keys = self._directory / "keys"
        self._keys.mkdir(parents=True)
        for name, content in keys.items():
            path = self._keys / name
            path.write_bytes(content)
            path.chmod(MODES[name])
        self._calls = self._directory / "calls"
        self._process = None

    def __enter__(self):
        host_key = self._directory / "host_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self._directory / "sshd_config"
        config.write_text(f"""Port {port}
ListenAddress 127.0.0.1
HostKey {host_key}
PidFile none
AuthorizedKeysFile {self._keys}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
# The keys are in a directory for temporary files, which every user may write to.
StrictModes no
""")
        (self._directory / "ssh_config").write_text(f"""Host *
  HostName 127.0.0.1
  Port {port}
  IdentityFile {self._keys}/id_rsa
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
""")
        programs = self._directory / "bin"
        programs.mkdir()
        ssh = programs / "ssh"
        ssh.write_text(f"#!/bin/sh\necho \"$*\" >>{self._calls}\nexec /usr/bin/ssh -F {self._directory}/ssh_config \"$@\"\n")
        ssh.chmod(0o755)
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # as the service would
        self._process = Process("sshd", ["/usr/sbin/sshd", "-D", "-e", "-f", config], self._directory / "sshd.log")
        wait_for("sshd to listen", lambda: "Server listening" in (self._directory / "sshd.log").read_text())
        return self

    def __exit__(self, *_):
        self._process.ask_to_end()
        if not self._process.wait(10):
            self._process.kill()

    @property
    def private_key(self):
        return self._keys / "id_rsa"

    def run(self, *command, environment=None):
        """Returns the output of a command that finds this ssh on its PATH."""
        path = f"{self._directory}/bin:{os.environ['PATH']}"
        done = subprocess.run(command, env={**os.environ, **(environment or {}), "PATH": path}, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def calls(self):
        """Returns the arguments of every ssh so far."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []
