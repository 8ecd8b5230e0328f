"""scripts/check-advisories: what it says about a release when Debian has newer packages. The archives are folders here."""

import json
import os
import subprocess

import pytest

from paths import ROOT

PACKAGE = "Package: {0}\nVersion: {1}\nArchitecture: {2}\nFilename: {0}.deb\nSize: 1\nSHA256: {3}\n\n"
# What the programs of the release were built with.
BUILT = {"libssl-dev": ("3.0.1-1", "openssl"), "libyaml-cpp-dev": ("0.7.0-1", "yaml-cpp")}


def bill(packages=None):
    return json.dumps({"packages": [
        {"name": "kubectl-trainjob", "versionInfo": "1.2.3"}, {"name": "libc6"},
        *({"name": name, "versionInfo": version, "externalRefs": [{"referenceLocator": f"pkg:deb/debian/{of}@{version}"} for of in (name, source)]}
          for name, (version, source) in (BUILT if packages is None else packages).items())]})


@pytest.fixture
def check(tmp_path):
    """Runs the script with apt's lists of these archives: {suite: {package: version}}."""
    arch = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()

    def run(archives, *arguments, text=None):
        sources = tmp_path / "sources.list"
        for suite, packages in archives.items():
            folder = tmp_path / "archive" / "dists" / suite / "main" / f"binary-{arch}"
            folder.mkdir(parents=True)
            (folder / "Packages").write_text("".join(PACKAGE.format(name, version, arch, "0" * 64) for name, version in packages.items()))
        sources.write_text("".join(f"deb [trusted=yes] file:{tmp_path}/archive {suite} main\n" for suite in archives))
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "status").touch()
        (tmp_path / "apt.conf").write_text(
            f'Dir::State "{tmp_path}/state"; Dir::State::status "{tmp_path}/status"; Dir::Cache "{tmp_path}/cache"; Dir::Etc::sourcelist "{sources}";'
            'Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null"; APT::Sandbox::User "";')
        environment = {**os.environ, "APT_CONFIG": str(tmp_path / "apt.conf"), "LC_ALL": "C"}
        subprocess.run(["apt-get", "update", "-q"], env=environment, check=True, capture_output=True)
        (tmp_path / "bill.spdx.json").write_text(bill() if text is None else text)
        said = subprocess.run([ROOT / "scripts" / "check-advisories", *(arguments or [tmp_path / "bill.spdx.json"])], env=environment,
                              capture_output=True, text=True, check=False)
        return said.returncode, said.stdout, said.stderr
    return run


TODAY = {name: version for name, (version, _) in BUILT.items()}


def test_a_release_of_debian_s_newest_packages_stays(check):
    assert check({"stable": TODAY, "stable-security": {"libssl-dev": "3.0.0-9"}}) == (0, "all 2 packages are Debian's newest\n", "")


def test_an_advisory_on_a_package_with_code_in_the_release_makes_a_rebuild_due(check):
    status, said, _ = check({"stable": TODAY, "stable-security": {"libssl-dev": "3.0.10-1"}})
    assert (status, said) == (1, "openssl: libssl-dev 3.0.1-1 -> 3.0.10-1 (stable-security/main)\n1 of 2 packages are newer: build again\n")


def test_a_point_release_counts_too_and_the_newest_of_all_archives_is_named(check):
    status, said, _ = check({"stable": TODAY | {"libssl-dev": "3.0.9-1"}, "stable-security": {"libssl-dev": "3.0.10-1", "libyaml-cpp-dev": "0.7.0-1+deb1"}})
    assert status == 1 and said.splitlines()[:2] == ["openssl: libssl-dev 3.0.1-1 -> 3.0.10-1 (stable-security/main)",
                                                    "yaml-cpp: libyaml-cpp-dev 0.7.0-1 -> 0.7.0-1+deb1 (stable-security/main)"]


def test_a_newer_package_that_no_program_has_code_of_is_no_reason(check):
    assert check({"stable": TODAY | {"curl": "9"}, "stable-security": {"libc6": "9"}})[0] == 0, "the plugin uses the C library of its machine"


def test_a_package_that_apt_does_not_know_is_never_taken_for_current(check):
    status, said, error = check({"stable": {"libssl-dev": "3.0.1-1"}})
    assert (status, said) == (2, "") and "apt's lists have no libyaml-cpp-dev: run apt-get update" in error


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"packages": [3]}', bill({})])
def test_a_file_that_names_no_package_is_never_taken_for_current(check, text):
    status, said, error = check({"stable": TODAY}, text=text)
    assert (status, said) == (2, "") and "bill.spdx.json" in error


@pytest.mark.parametrize("arguments", [["/nowhere/bill.spdx.json"], ["--help"]])
def test_without_a_bill_it_says_how_it_is_called(check, arguments):
    status, said, error = check({"stable": TODAY}, *arguments)
    assert (status, said) == (2, "") and "bill of materials" in error
