"""The architectures that programs are built for, by their names of Debian, which are Go's and those of images as well: how a program is
built, run and read on this machine, whichever it is for."""

import os
import pathlib
import re
import struct

# What Debian's toolchain has before the names of its tools and of its folders of libraries, and the emulator of Debian's qemu-user.
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
EMULATORS = {"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}
# By the field e_machine of ELF.
MACHINES = {62: "amd64", 183: "arm64"}
THIS = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def preset_of(architecture):
    """Returns the preset of CMake that builds what is shipped for an architecture."""
    return "release" if architecture == THIS else f"release-{architecture}"


def tool(name, architecture):
    """Returns the name of a compiler or of one of binutils that writes programs of an architecture."""
    return name if architecture == THIS else f"{TRIPLETS[architecture]}-{name}"


def architecture_of(program):
    """Returns the architecture of a program, and this machine's of what is no ELF file, such as a script."""
    with open(program, "rb") as file:
        start = file.read(20)
    return MACHINES.get(struct.unpack_from("<H", start, 18)[0]) if start.startswith(b"\x7fELF") else THIS


def sysroot_of(program):
    """Returns the folder with the libraries that a program BUILD/bin/NAME was built against: / unless it was built for another machine."""
    cache = pathlib.Path(program).resolve().parents[1] / "CMakeCache.txt"
    named = re.search(r"(?m)^CMAKE_SYSROOT:\w+=(.+)$", cache.read_text()) if cache.is_file() else None
    return pathlib.Path(named[1] if named else "/").resolve()


def runnable(program):
    """Returns the words of a command that runs a program BUILD/bin/NAME here."""
    architecture = architecture_of(program)
    return [str(program)] if architecture == THIS else [EMULATORS[architecture], "-L", str(sysroot_of(program)), str(program)]
