"""The images of the real nodes, as archives that containerd imports. They are made without a daemon, and kept until their inputs change.

JobSet's has the program that the control plane has as a process, under the name that its released manifests have; that of the example driver
has the name of its chart.

The training image has Debian's PyTorch and, where they are installed, Open MPI with an SSH server, and wheels of JAX and XGBoost. Its files
are those of packages that scripts/setup has installed on this machine, and of the libraries that their programs load: nothing is downloaded
for it. `scripts/setup --demo` installs only PyTorch, since Debian's SSH server would run on the machine of somebody who only looks around.
"""

import ast
import fcntl
import functools
import hashlib
import io
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile
import time

from controlplane import build
from controlplane.binaries import JOBSET_MODULE, cache_directory, go

from .containerd import PAUSE
from .programs import DRIVER_MODULE, build_driver

HERE = pathlib.Path(__file__).resolve().parent
TRAINING = "localhost/training:1"
JOBSET = "registry.k8s.io/jobset/jobset"  # as in its released manifests
DRIVER = "registry.k8s.io/dra-example-driver/dra-example-driver"  # as in its chart
FRAMEWORKS = "/opt/frameworks"  # PYTHONPATH of programs that use JAX or XGBoost, whose NumPy is newer than PyTorch's

# Packages that are there as a whole. What their programs and libraries load comes with them.
PACKAGES = ["bash", "coreutils", "dash", "grep", "hostname", "sed", "python3-minimal", "python3.11-minimal", "libpython3.11-minimal",
            "libpython3.11-stdlib", "libc6", "libstdc++6", "python3-torch", "python3-numpy", "python3-typing-extensions"]
# The hooks of our runtimes for MPI need procps.
MPI = ["python3-mpi4py", "openmpi-bin", "openmpi-common", "libopenmpi3", "libpmix2", "openssh-server", "openssh-client", "openssh-sftp-server",
       "procps"]
# Modules of the wheels. torchtune, which is beside them, needs a newer PyTorch.
WHEELS = ["jax", "jaxlib", "ml_dtypes", "numpy", "numpy.libs", "opt_einsum", "scipy", "scipy.libs", "xgboost", "xgboost_cpu.libs"]
WITHOUT = re.compile(r"^/usr/share/(doc|man|locale|lintian|bash-completion|info|bug|menu|doc-base|python3/)|^/etc/(init|pam|default|network|ufw)"
                     r"|^/usr/lib/(systemd|tmpfiles)|/tests?/|/torch/bin/test_|^/usr/lib/python3.*\.pyi$|/include/|/gconv/")
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64", "usr/bin/python": "python3"}
LINKS_OF_MPI = {"usr/bin/mpirun": "mpirun.openmpi"}
# As in Kubeflow's images for MPI, a user runs the SSH server, at a port above 1024.
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nmpiuser:x:1000:1000::/home/mpiuser:/bin/bash\n"
                  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nmpiuser:x:1000:\nnogroup:x:65534:\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\nmpiuser:*:19000:0:99999:7:::\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "etc/ssh/ssh_config.d/training.conf": "Host *\n    StrictHostKeyChecking no\n    UserKnownHostsFile /dev/null\n    LogLevel ERROR\n    Port 2222\n",
    "home/mpiuser/.sshd_config": "Port 2222\nPidFile /home/mpiuser/sshd.pid\nHostKey /home/mpiuser/.ssh/id_rsa\nStrictModes no\nUsePAM no\n",
}
FOLDERS = {"home/mpiuser": 1000, "root": 0, "run/sshd": 0, "tmp": 0, "proc": 0, "sys": 0, "dev": 0, "workspace": 0, "var/tmp": 0}


def archives():
    """Returns the archives for a node. Makes missing ones."""
    jobset = (build() / "jobset").resolve()
    return [_kept("pause", PAUSE, _inputs_of_pause(), _write_pause),
            _kept("jobset", f"{JOBSET}:{version_of_jobset()}", [str(jobset)], functools.partial(_write_jobset, jobset)),
            _kept("training", TRAINING, _inputs_of_training(), _write_training)]


def version_of_jobset():
    return os.environ.get("SIGNALBOX_JOBSET") or go("list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/jobset", module=JOBSET_MODULE).strip()


def archive_of_driver():
    """Returns the archive of the example driver's image. Makes it if it is missing."""
    version = go("list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/dra-example-driver", module=DRIVER_MODULE).strip()
    program = build_driver() / "dra-example-kubeletplugin"
    return _kept("driver", f"{DRIVER}:{version}", [str(program)], functools.partial(_write_driver, program))


def _kept(name, reference, inputs, write):
    code = ast.dump(ast.parse(pathlib.Path(__file__).read_text()))  # comments make no other image
    digest = hashlib.sha256("\n".join([reference, code, *inputs]).encode()).hexdigest()[:16]
    archive = cache_directory() / "images" / f"{name}-{digest}.tar"
    archive.parent.mkdir(parents=True, exist_ok=True)
    with open(archive.parent / f"lock-{name}", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            began = time.monotonic()
            print(f"making the image {reference}, once", flush=True, file=sys.stderr)
            for left in archive.parent.glob(f"{name}-*"):
                left.unlink()
            unfinished = archive.with_suffix(".unfinished")
            write(reference, unfinished)
            unfinished.rename(archive)
            print(f"made {archive} of {archive.stat().st_size / 2**20:.0f} MiB in {time.monotonic() - began:.0f} s", flush=True, file=sys.stderr)
    return archive


def _inputs_of_pause():
    return [(HERE / "pause.c").read_text()]


def _write_pause(reference, archive):
    program = archive.with_suffix(".program")
    _run("cc", "-Os", "-static", "-s", "-o", program, HERE / "pause.c")
    layer = Layer()
    layer.add_file("pause", program, 0o755)
    write_archive(archive, reference, [layer], {"Entrypoint": ["/pause"], "User": "65534:65534"})
    program.unlink()


def _write_jobset(program, reference, archive):
    layer = Layer()
    layer.add_file("manager", program, 0o755)
    write_archive(archive, reference, [layer], {"Entrypoint": ["/manager"], "User": "65532:65532"})


def _write_driver(program, reference, archive):
    layer = Layer()
    layer.add_file(f"usr/bin/{program.name}", program, 0o755)
    write_archive(archive, reference, [layer], {"Env": ["PATH=/usr/bin"]})


def _inputs_of_training():
    missing = [package for package in PACKAGES if not _versions()[package]]
    if missing:
        raise RuntimeError(f"{', '.join(missing)}: not installed; scripts/setup installs what the training image is made of")
    wheels = (HERE.parent / "frameworks" / "requirements.txt").read_text() if _site_packages() else "no wheels"
    return [json.dumps({package: _versions()[package] for package in _packages()}), wheels]


def _packages():
    return [*PACKAGES, *(MPI if _has_mpi() else [])]


def _has_mpi():
    return all(_versions()[package] for package in MPI)


@functools.cache
def _versions():
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n", *PACKAGES, *MPI],
                           capture_output=True, text=True).stdout.splitlines()
    installed = {name: version for name, status, version in (line.split(" ", 2) for line in shown) if status == "installed"}
    return {package: installed.get(package) for package in (*PACKAGES, *MPI)}


def _site_packages():
    """Returns the folder of the wheels; None if they are not all there."""
    environment = cache_directory() / "tools" / "frameworks"
    return next((environment / "lib").glob("python3.*/site-packages"), None) if (environment / "requirements.txt").exists() else None


def _write_training(reference, archive):
    system = Layer()
    for path, target in {**LINKS, **(LINKS_OF_MPI if _has_mpi() else {})}.items():
        system.add_link(path, target)
    for path, user in FOLDERS.items():
        system.add_folder(path, user, 0o1777 if path.endswith("tmp") else 0o755)
    for path, text in TEXTS.items():
        system.add_text(path, text, 1000 if path.startswith("home/mpiuser") else 0)
    for path in sorted(_files_of_packages()):
        system.add_path(path)
    layers = [system, _layer_of_wheels()] if _site_packages() else [system]
    write_archive(archive, reference, layers, {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                                               "WorkingDir": "/workspace"})


def _layer_of_wheels():
    layer = Layer()
    for name in WHEELS:
        source = _site_packages() / name
        for file in sorted(source.rglob("*")):
            if file.is_file() and not re.search(r"/tests?/", str(file.relative_to(source.parent))):
                layer.add_file(f"{FRAMEWORKS.strip('/')}/{file.relative_to(source.parent)}", file, stat.S_IMODE(file.stat().st_mode))
    return layer


def _files_of_packages():
    """Returns the paths of the packages' files, as they are on this machine, and of all that these lead to."""
    listed = _run("dpkg", "-L", *_packages()).splitlines()
    waiting = [path for path in listed if path.startswith("/") and not os.path.isdir(path) and os.path.lexists(path) and not WITHOUT.search(path)]
    found, scanned = set(), set()
    while waiting:
        path = _merged(waiting.pop())
        if path in found or not os.path.exists(path):
            continue
        found.add(path)
        if os.path.islink(path):
            waiting.append(os.path.join(os.path.dirname(path), os.readlink(path)))
        elif path.endswith(".py"):
            folder, name = os.path.split(path)
            compiled = f"{folder}/__pycache__/{name[:-3]}.cpython-311.pyc"
            found.update([compiled] if os.path.exists(compiled) else [])
        elif path not in scanned and _is_elf(path):
            scanned.add(path)
            waiting.extend(_libraries_of(path))
    return found


def _merged(path):
    """Returns the path below /usr, where Debian's old folders lead, without `..`."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _libraries_of(path):
    shown = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", shown)


def _run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


class Layer:
    """Files of one layer. A path is without the first slash."""

    def __init__(self):
        self._members = {}  # path: (TarInfo, file or bytes or None)

    def add_folder(self, path, user=0, mode=0o755):
        for parent in [*reversed(pathlib.PurePosixPath(path).parents)][1:]:
            if str(parent) not in self._members:
                self.add_folder(str(parent))
        self._add(path, tarfile.DIRTYPE, mode, user)

    def add_link(self, path, target):
        self._parents(path)
        self._add(path, tarfile.SYMTYPE, 0o777).linkname = target

    def add_text(self, path, text, user=0):
        self._parents(path)
        self._add(path, tarfile.REGTYPE, 0o644, user, text.encode())

    def add_file(self, path, source, mode):
        self._parents(path)
        # Python compares the time of a source with the one in its compiled file.
        self._add(path, tarfile.REGTYPE, mode, 0, pathlib.Path(source)).mtime = int(os.stat(source).st_mtime)

    def add_path(self, path):
        """Adds a file or link of this machine, under its own path."""
        if os.path.islink(path):
            self.add_link(path.lstrip("/"), os.readlink(path))
        else:
            self.add_file(path.lstrip("/"), path, stat.S_IMODE(os.stat(path).st_mode) & 0o755)

    def write(self, path):
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
            for _, (info, content) in self._members.items():
                if isinstance(content, pathlib.Path):
                    info.size = content.stat().st_size
                    with open(content, "rb") as file:
                        tar.addfile(info, file)
                else:
                    info.size = len(content or b"")
                    tar.addfile(info, io.BytesIO(content) if content else None)

    def _parents(self, path):
        parent = str(pathlib.PurePosixPath(path).parent)
        if parent != "." and parent not in self._members:
            self.add_folder(parent)

    def _add(self, path, kind, mode, user=0, content=None):
        info = tarfile.TarInfo(path)
        info.type, info.mode, info.uid, info.gid = kind, mode, user, user
        self._members[path] = (info, content)
        return info


def write_archive(archive, reference, layers, config):
    """Writes an archive as `docker save` does."""
    with tarfile.open(archive, "w") as tar:
        digests = []
        for number, layer in enumerate(layers):
            path = archive.with_suffix(f".layer-{number}")
            layer.write(path)
            with open(path, "rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
            tar.add(path, f"{number}.tar")
            path.unlink()
        image = {"architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine], "os": "linux", "config": config, "history": [{} for _ in layers],
                 "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]}}
        manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": [f"{number}.tar" for number in range(len(layers))]}]
        for name, content in (("config.json", image), ("manifest.json", manifest)):
            data = json.dumps(content).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
