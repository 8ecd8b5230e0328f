"""Bills of materials of programs in SPDX 2.3. They name the Debian packages whose code is in the programs, as their build recorded it."""

import functools
import hashlib
import json
import pathlib
import re
import subprocess
import urllib.parse
import uuid

from architectures import TRIPLETS, architecture_of, sysroot_of
from artifacts import ROOT

# The kernel's headers have declarations and no code. Each advisory of the kernel changes their version.
NO_CODE = {"linux-libc-dev"}
PACKAGE_FIELDS = "${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """Returns the files that the dynamic linker loads for a program, and the linker itself, by their paths on a machine of the program's
    architecture. They lie below sysroot_of(program)."""
    root, triplet = sysroot_of(program), TRIPLETS[architecture_of(program)]
    linker = re.search(r"interpreter: (/[^\]]+)\]", run("readelf", "--wide", "--program-headers", str(program)))[1]
    found, unread = {pathlib.PurePath(linker).name: linker}, [pathlib.Path(program)]
    while unread:
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--wide", "--dynamic", str(unread.pop()))):
            if name not in found:
                # In the linker's own order; nothing that is shipped names further folders.
                paths = [f"{folder}/{name}" for folder in (f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib")]
                found[name] = next((path for path in paths if below(root, path).is_file()), None)
                if not found[name]:
                    raise SystemExit(f"{program} needs {name}, which is in no folder of libraries below {root}")
                unread.append(below(root, found[name]))
    return list(found.values())


def below(root, path):
    """Returns where a file of another root lies here."""
    return root / path.lstrip("/")


def linked_into(program):
    """Returns the files outside the project that a program BUILD/bin/NAME was compiled and linked from, by their paths here.

    The linker's map has the archives from which it took code. Ninja has the headers of each object."""
    build, linked = program.parents[1], program.with_name(f"{program.name}.map")
    if not linked.is_file():
        raise SystemExit(f"{program} has no {linked.name} beside it, which the release preset writes")
    found = {one or other for one, other in re.findall(r"(?m)^(?:LOAD (/\S+\.o)$|(/\S+\.a)\()", linked.read_text())}
    inputs = set(run("ninja", "-C", str(build), "-t", "inputs", f"bin/{program.name}").split())
    for name, headers in re.findall(r"(?m)^(\S+): #deps .*\n((?:    .*\n)*)", run("ninja", "-C", str(build), "-t", "deps")):
        if name in inputs:
            found.update(headers.split())
    files = {build.joinpath(path).resolve() for path in found}
    return {str(path) for path in files if not any(path.is_relative_to(own) for own in (ROOT, build.resolve()))}


@functools.cache
def installed(root):
    """Returns the Debian package of each file of this machine, or of a folder of scripts/lib/sysroot.py, as its name, version, architecture,
    source and the source's version."""
    unpacked, owners = root / "packages", {}
    text = unpacked.read_text() if unpacked.is_file() else run("dpkg-query", "-W", "-f", f"{PACKAGE_FIELDS}\n${{db-fsys:Files}}\n")
    for line in text.splitlines():
        if line.startswith(" "):
            owners[line[1:]] = package
        elif line:
            package = tuple(line.split())
    return owners


def packages_of(files, root):
    """Returns the Debian packages that own these files below a root, in order."""
    found, owners = set(), installed(root)
    for file in files:
        # Debian 12 registers libraries by their paths from before or after /lib became a link to /usr/lib.
        names = [f"/{path.relative_to(root)}" for path in (pathlib.Path(file), pathlib.Path(file).resolve()) if path.is_relative_to(root)]
        owner = next((owners[name] for name in (*names, *(name.removeprefix("/usr") for name in names)) if name in owners), None)
        if not owner:
            raise SystemExit(f"{file}: no Debian package owns it")
        found.add(owner)
    return sorted(package for package in found if package[0] not in NO_CODE)


def bill_of_materials(built, content, version, time, with_libraries):
    """Returns the text of a bill of the program `built`, which is shipped as `content`. `with_libraries`: shared libraries are shipped,
    too. Otherwise they are the machine's, and have no version here."""
    packages, relations = {}, []

    def add(identifier, relation, other, package):
        packages.setdefault(other, {"SPDXID": other, "downloadLocation": "NOASSERTION", "filesAnalyzed": False, **package})
        relations.append({"spdxElementId": identifier, "relationshipType": relation, "relatedSpdxElement": other})

    own = f"SPDXRef-{built.name}"
    add("SPDXRef-DOCUMENT", "DESCRIBES", own, {"name": built.name, "versionInfo": version, "checksums": [
        {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}]})
    root = sysroot_of(built)
    shared = [below(root, library) for library in libraries_of(built)]
    for relation, files in (("STATIC_LINK", linked_into(built)), ("DYNAMIC_LINK", shared)):
        for row in packages_of(files, root):
            known = relation == "STATIC_LINK" or with_libraries
            add(own, relation, f"SPDXRef-deb-{re.sub('[^A-Za-z0-9.-]', '-', row[0])}", debian_package(*row) if known else {"name": row[0]})
    parts = {"packages": list(packages.values()), "relationships": relations}
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{built.name}-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(parts))}",
        "creationInfo": {"created": utc(time), "creators": ["Organization: The authors of Signalbox"]}, **parts}, indent=1) + "\n"


def utc(time):
    return run("date", "--utc", "--date", f"@{time}", "+%Y-%m-%dT%H:%M:%SZ").strip()


def debian_package(name, version, arch, source, source_version):
    """Scanners look up advisories by the source, apt by the name."""
    return {"name": name, "versionInfo": version, "supplier": "Organization: Debian", "externalRefs": [
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator":
         f"pkg:deb/debian/{urllib.parse.quote(of)}@{urllib.parse.quote(its)}?arch={kind}&distro=bookworm"}
        for of, its, kind in ((name, version, arch), (source, source_version, "source"))]}


def linked_packages(bill):
    """Returns the sources of the packages of a bill whose code is shipped, by name and version: {(libssl-dev, 3.0.1): openssl}."""
    return {(each["name"], each["versionInfo"]): re.search("/([^/@]+)@", each["externalRefs"][1]["referenceLocator"])[1]
            for each in json.loads(bill)["packages"] if len(each.get("externalRefs", [])) == 2}
