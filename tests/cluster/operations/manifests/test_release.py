"""The output of scripts/release: one file for each overlay, and a Helm chart with the same objects."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from artifacts import SOURCES
from deployment import write_overlay
from releases import ARCHITECTURES, CONTACT, DIGESTS, OVERLAYS, PROGRAMS, VERSION, image_of, make_release
from schema_server import ROOT, build, by_name, load_all

KEPT = {"CustomResourceDefinition", "Namespace"}


def of_overlay(plane, name):
    """Returns kustomize's objects of an overlay, with the images of the release."""
    objects = by_name(build(plane, ROOT / "manifests" / "overlays" / name))
    for (kind, _), obj in objects.items():
        if kind == "Deployment":
            container, = obj["spec"]["template"]["spec"]["containers"]
            container["image"] = image_of(container["image"].removeprefix("signalbox-").removesuffix(":dev"))
    return objects


def test_a_changed_file_of_a_release_does_not_have_its_checksum(release, tmp_path):
    copy = shutil.copytree(release, tmp_path / "copy")

    def check():
        return subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=copy, capture_output=True, text=True, check=False)
    named = {line.split()[1] for line in (copy / "SHA256SUMS").read_text().splitlines()}
    assert named == {path.name for path in copy.iterdir()} - {"SHA256SUMS"}
    assert check().returncode == 0
    with open(copy / "install.yaml", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert "install.yaml: FAILED" in check().stdout


def test_a_release_names_the_commit_and_the_options_that_it_is_made_from(release):
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    made_from = json.loads((release / "provenance.json").read_text())
    assert made_from["commit"] == git("rev-parse", "HEAD")
    assert (made_from["version"], made_from["images"], made_from["documents"]) == (VERSION, {each: image_of(each) for each in PROGRAMS}, None)
    # Files beside the sources, such as those of a release, are no change of them.
    assert made_from["changed"] == bool(git("status", "--porcelain", "--", *SOURCES))


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_installation_by_one_file_is_the_overlay_with_the_release_s_images(plane, release, name):
    file = release / ("install.yaml" if name == "self-signed" else f"install-{name}.yaml")
    assert by_name(load_all(file.read_text())) == of_overlay(plane, name)
    assert f"kubectl apply --server-side -f {file.name}" in file.read_text().splitlines()[0]


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_chart_makes_the_objects_of_each_overlay_and_keeps_crds_and_namespace(plane, template, name):
    assert without_policy(template("--set", f"overlay={name}")) == of_overlay(plane, name)


def without_policy(objects):
    """Removes the annotation that keeps objects, and checks that exactly the right kinds have it."""
    for (kind, _), obj in objects.items():
        annotations = obj["metadata"].get("annotations", {})
        assert (annotations.pop("helm.sh/resource-policy", None) == "keep") == (kind in KEPT)
        if not annotations:
            obj["metadata"].pop("annotations", None)
    return objects


def test_the_chart_s_namespaces_make_the_objects_of_the_overlay_that_names_them(plane, template):
    objects = without_policy(template("--set", "namespaces={team-a,team-b}"))
    assert objects == of_overlay(plane, "namespaced")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_namespaces_limit_every_overlay_and_leave_the_rest_of_it_alone(template, overlay):
    everywhere, limited = template("--set", f"overlay={overlay}"), template("--set", f"overlay={overlay},namespaces={{one}}",
                                                                             "--set", "webhook.args={--log-level=debug}")
    programs = ["reconciler", "webhook", *(["progress"] if overlay == "progress" else [])]
    added = {(kind, f"one/signalbox-{program}") for kind in ("Role", "RoleBinding") for program in programs}
    if overlay == "progress":
        added |= {(kind, "signalbox-reconciler-progress") for kind in ("Role", "RoleBinding")}
    assert limited.keys() - everywhere.keys() == added and everywhere.keys() <= limited.keys()
    assert {kind for kind, name in everywhere if everywhere[kind, name] != limited[kind, name]} == {
        "ClusterRole", "Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    for program in programs:
        container, = limited["Deployment", f"signalbox-{program}"]["spec"]["template"]["spec"]["containers"]
        was, = everywhere["Deployment", f"signalbox-{program}"]["spec"]["template"]["spec"]["containers"]
        own = ["--log-level=debug"] if program == "webhook" else []
        assert container["args"] == [*was["args"], "--namespaces=one", *own]


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_chart_adds_progress_to_each_overlay(template, and_progress, name):
    objects = and_progress(name)
    made = without_policy(template("--set", f"overlay={name},progress.enabled=true"))
    for (kind, _), obj in made.items():
        for container in obj["spec"]["template"]["spec"]["containers"] if kind == "Deployment" else []:
            container["image"] = re.sub(":.*", ":dev", container["image"])
    assert made == objects


@pytest.mark.parametrize("progress", [False, True], ids=["alone", "with progress"])
@pytest.mark.parametrize("name", OVERLAYS)
def test_the_chart_adds_secure_metrics_to_each_overlay(template, and_secure_metrics, name, progress):
    made = without_policy(template("--set", f"overlay={name},metrics.secure=true,progress.enabled={str(progress).lower()}"))
    for (kind, _), obj in made.items():
        for container in obj["spec"]["template"]["spec"]["containers"] if kind == "Deployment" else []:
            container["image"] = re.sub(":.*", ":dev", container["image"])
    assert made == and_secure_metrics(name, progress)


def test_the_chart_s_namespaces_limit_progress_as_the_overlay_does(plane, template, tmp_path):
    made = template("--set", "progress.enabled=true,namespaces={one,two}")
    overlay = by_name(build(plane, write_overlay(tmp_path, ["self-signed", "progress"], ["one", "two"], base="base")))
    for kind in ("Role", "ClusterRole"):
        assert ({name: obj.get("rules") for (each, name), obj in made.items() if each == kind}
                == {name: obj.get("rules") for (each, name), obj in overlay.items() if each == kind})


def test_helm_lint_accepts_the_chart(helm, chart):
    run = helm("lint", "--strict", chart)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert "ERROR" not in run.stdout and "WARNING" not in run.stdout


@pytest.fixture
def clone(tmp_path):
    """A fresh clone of this checkout, with its uncommitted changes of sources of the release."""
    def git(*words, **options):
        return subprocess.run(["git", *words], check=True, capture_output=True, **options).stdout
    git("clone", "--quiet", "--no-local", ROOT, tmp_path / "clone")
    if changes := git("diff", "HEAD", "--", *SOURCES, cwd=ROOT):
        git("apply", cwd=tmp_path / "clone", input=changes)
    return tmp_path / "clone"


def test_a_release_from_a_clean_clone_has_the_same_bytes(release, layouts, jobset, clone, tmp_path):
    again = make_release(tmp_path / "again", layouts, "--jobset", jobset, checkout=clone)
    files = {path.name: path.read_bytes() for path in release.iterdir()}
    assert files == {path.name: path.read_bytes() for path in again.iterdir()}
    assert {"install.yaml", "runtimes.yaml", "runtimes-restricted.yaml", f"signalbox-{VERSION}.tgz"} <= files.keys()


def test_a_release_says_that_the_sources_of_its_programs_were_changed(clone):
    def changed():
        # In a process of its own, whose modules are the clone's.
        script = ("import argparse, json, runpy; options = argparse.Namespace(**json.loads(input())); "
                  "print(runpy.run_path('scripts/release')['provenance'](options)['changed'])")
        options = {"version": VERSION, "images": "", "digests": DIGESTS, "documents": None, "security_contact": CONTACT, "jobset_digest": None}
        said = subprocess.run([sys.executable, "-c", script], input=json.dumps(options), cwd=clone, capture_output=True, text=True, check=True)
        return said.stdout == "True\n"
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--all", "--allow-empty", "--message=clean"],
                   cwd=clone, check=True)
    assert changed() is False
    with open(clone / "libs" / "api" / "CMakeLists.txt", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert changed() is True


@pytest.fixture(scope="module")
def of_ones_own(tmp_path_factory, layouts):
    """A release with the images of another registry, and with links to its documents."""
    return make_release(tmp_path_factory.mktemp("own"), layouts, "--images", "registry.example/team/",
                        "--documents", "https://git.example/signalbox/blob/v1.2.3-rc.1")


def test_images_of_another_registry_are_in_every_file(of_ones_own):
    images = {container["image"]
              for file in of_ones_own.glob("*.yaml") for each in load_all(file.read_text()) if each["kind"] == "Deployment"
              for container in each["spec"]["template"]["spec"]["containers"]}
    assert images == {image_of(program, "registry.example/team/") for program in PROGRAMS}


def test_every_image_that_a_file_of_a_release_names_has_the_digest_of_the_one_that_was_made(release, chart, tmp_path):
    shutil.unpack_archive(chart, tmp_path)
    texts = [file.read_text() for file in [*release.glob("*.yaml"), *tmp_path.rglob("*.yaml")]]
    # Runtimes name images of others.
    named = [image for text in texts for image in re.findall(r"(?m)^ *(?:- )?image: *(\S*signalbox-\S*)$", text)]
    assert len(named) > 2 * len(OVERLAYS)
    assert set(named) == {image_of(program) for program in PROGRAMS}


def test_without_an_image_of_its_version_there_is_no_release(layouts, tmp_path):
    other = shutil.copytree(layouts, tmp_path / "other")
    index = other / "signalbox-webhook" / "index.json"
    index.write_text(index.read_text().replace(VERSION, "1.2.2"))
    for made, reason in ((tmp_path / "none", "signalbox-webhook/index.json"), (other, f"names no image of {VERSION}")):
        said = refused(tmp_path / "out", "--layouts", made, "--security-contact", CONTACT)
        assert reason in said and f"scripts/images --version {VERSION} makes it" in said


def test_a_release_has_the_bill_of_materials_of_each_image_and_architecture(release, layouts):
    bills = {path.name: path.read_text() for path in release.glob("*.spdx.json")}
    assert bills == {f"signalbox-{program}-{VERSION}-linux-{architecture}.spdx.json": (layouts / architecture / f"{program}.spdx.json").read_text()
                     for program in PROGRAMS for architecture in ARCHITECTURES}


def test_a_release_names_the_contact_for_weaknesses_and_the_time_to_answer(release, of_ones_own):
    text = (release / "SECURITY.md").read_text()
    assert re.findall("(?m)^Contact: .*$", text) == [f"Contact: <{CONTACT}>"]
    assert "3 working days" in text and "14 days" in text and "90 days" in text
    assert "](https://git.example/signalbox/blob/v1.2.3-rc.1/docs/security.md)" in (of_ones_own / "SECURITY.md").read_text()


@pytest.mark.parametrize("contact", ["", "us", "security@", "http://git.example/report", "a@b.example c@d.example", "<a@b.example>"])
def test_a_contact_is_an_address_or_a_form(contact, layouts, tmp_path):
    assert "--security-contact" in refused(tmp_path / "out", "--layouts", layouts, "--security-contact", contact)


def test_there_is_no_release_without_a_contact(layouts, tmp_path):
    assert "--security-contact" in refused(tmp_path / "out", "--layouts", layouts)


def refused(directory, *options, version=VERSION):
    """Returns why scripts/release writes nothing."""
    run = subprocess.run([ROOT / "scripts" / "release", version, directory, *options], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and not directory.exists()
    return run.stderr


def test_alerts_link_to_the_documents(helm, of_ones_own):
    chart = helm("template", "signalbox", of_ones_own / f"signalbox-{VERSION}.tgz", "--set", "overlay=prometheus").stdout
    for text in ((of_ones_own / "install-prometheus.yaml").read_text(), chart):
        alerts, = [each for each in load_all(text) if each["kind"] == "PrometheusRule"]
        links = {rule["annotations"]["runbook_url"] for group in alerts["spec"]["groups"] for rule in group["rules"]}
        assert len(links) > 5
        assert {link.partition("#")[0] for link in links} == {"https://git.example/signalbox/blob/v1.2.3-rc.1/docs/operations.md"}


@pytest.mark.parametrize("base", ["docs", "git.example/signalbox", "https://git.example/a b", ""])
def test_documents_must_be_a_url(base, tmp_path):
    assert "--documents" in refused(tmp_path / "out", "--security-contact", CONTACT, "--documents", base)


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3 "])
def test_an_invalid_version_is_rejected(version, tmp_path):
    assert "semantic version" in refused(tmp_path / "out", "--security-contact", CONTACT, version=version)


def test_the_chart_installs_job_set_as_its_release_does_and_keeps_its_kind_and_namespace(template, jobset):
    plain, with_it = template(), template("--set", "jobset.install=true")
    added = {each: with_it[each] for each in with_it.keys() - plain.keys()}
    assert without_policy(added) == by_name(load_all(jobset.read_text()))
    assert all(with_it[each] == plain[each] for each in plain)


def test_job_set_gets_registry_pull_secrets_and_fields_of_its_pod(template):
    plain, changed = template("--set", "jobset.install=true"), template(
        "--set", "jobset.install=true,imageRegistry=registry.example/team/,imagePullSecrets[0].name=pull",
        "--set", "jobset.pod.priorityClassName=high,jobset.pod.tolerations[0].operator=Exists")
    name = ("Deployment", "jobset-system/jobset-controller-manager")
    pod, was = changed[name]["spec"]["template"]["spec"], plain[name]["spec"]["template"]["spec"]
    assert pod["containers"] == [{**was["containers"][0], "image": "registry.example/team/" + was["containers"][0]["image"].rpartition("/")[2]}]
    assert {member: pod[member] for member in pod.keys() - was.keys() | {"tolerations"}} == {
        "imagePullSecrets": [{"name": "pull"}], "priorityClassName": "high", "tolerations": [{"operator": "Exists"}]}
    own = template("--set", "jobset.install=true,jobset.image=own:1")
    assert own[name]["spec"]["template"]["spec"]["containers"][0]["image"] == "own:1"


def test_members_that_are_null_leave_a_program_unchanged(template):
    members = ("image", "replicas", "args", "env", "resources", "podLabels", "podAnnotations", "nodeSelector", "tolerations", "affinity", "pod")
    assert template("--set", ",".join(f"webhook.{member}=null" for member in members)) == template()


def test_the_chart_without_job_set_says_how_it_gets_it(helm, of_ones_own):
    run = helm("template", "signalbox", of_ones_own / f"signalbox-{VERSION}.tgz", "--set", "jobset.install=true")
    assert run.returncode != 0 and "scripts/release has made this chart without --jobset" in run.stderr


def test_other_manifests_than_those_of_the_pinned_job_set_are_refused(jobset, layouts, tmp_path):
    other = tmp_path / "manifests.yaml"
    other.write_text(jobset.read_text().replace("/jobset:v0.", "/jobset:v9."))
    assert "is not manifests.yaml of JobSet v0." in refused(tmp_path / "out", "--security-contact", CONTACT, "--layouts", layouts, "--jobset", other)


@pytest.mark.parametrize("value, file", [("shipped", "runtimes.yaml"), ("restricted", "runtimes-restricted.yaml")])
def test_the_chart_creates_the_runtimes_after_everything_else(template, release, value, file):
    plain, with_them = template(), template("--set", f"runtimes={value}")
    added = {each: with_them[each] for each in with_them.keys() - plain.keys()}
    for made in added.values():
        assert made["metadata"].pop("annotations") == {"helm.sh/hook": "post-install,post-upgrade"}
    assert added == by_name(load_all((release / file).read_text()))


def test_labels_registry_and_pull_secrets_are_those_of_all_programs(template):
    plain = template("--set", "progress.enabled=true")
    changed = template("--set", "progress.enabled=true,imageRegistry=registry.example/team/,commonLabels.team=ml,imagePullSecrets[0].name=pull")
    for each, obj in changed.items():
        own = plain[each]["metadata"].get("labels", {})
        assert obj["metadata"].get("labels", {}) == (own if each[0] == "CustomResourceDefinition" else {"team": "ml", **own})
        if each[0] == "Deployment":
            pod, was = obj["spec"]["template"], plain[each]["spec"]["template"]
            assert pod["metadata"]["labels"] == {"team": "ml", **was["metadata"]["labels"]}
            assert obj["spec"]["selector"] == plain[each]["spec"]["selector"]
            assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}]
            assert pod["spec"]["containers"][0]["image"] == "registry.example/team/" + was["spec"]["containers"][0]["image"]


@pytest.mark.parametrize("program", ["webhook", "reconciler", "progress"])
def test_values_change_the_program_that_they_name_and_nothing_else(template, program):
    plain, changed = template("--set", "progress.enabled=true"), template(
        "--set", "progress.enabled=true",
        "--set", f"{program}.image=own:1", "--set", f"{program}.replicas=0", "--set", f"{program}.args={{--log-level=debug}}",
        "--set", f"{program}.resources.limits.memory=1Gi", "--set", f"{program}.nodeSelector.disk=ssd",
        "--set", f"{program}.tolerations[0].operator=Exists", "--set", f"{program}.affinity.podAffinity=null",
        "--set", f"{program}.env[0].name=A", "--set", f"{program}.podLabels.b=c", "--set", f"{program}.podAnnotations.d=e",
        "--set", f"{program}.pod.priorityClassName=high", "--set", f"{program}.pod.securityContext.runAsUser=1000")
    name = ("Deployment", f"signalbox-{program}")
    assert {each for each in plain if plain[each] != changed[each]} == {name}
    spec, before = changed[name]["spec"], plain[name]["spec"]
    container, was = spec["template"]["spec"]["containers"][0], before["template"]["spec"]["containers"][0]
    assert (container["image"], spec["replicas"]) == ("own:1", 0)
    assert container["args"] == [*was["args"], "--log-level=debug"]
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    assert container["env"] == [*was.get("env", []), {"name": "A"}]
    assert spec["template"]["spec"]["nodeSelector"] == {"disk": "ssd"} and spec["template"]["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert spec["template"]["spec"]["priorityClassName"] == "high"
    for member, added in (("labels", {"b": "c"}), ("annotations", {"d": "e"})):
        assert spec["template"]["metadata"][member] == {**before["template"]["metadata"].get(member, {}), **added}
    # Values are merged: members that they do not name stay.
    assert spec["template"]["spec"]["securityContext"] == {"runAsNonRoot": True, "runAsUser": 1000,
                                                           "seccompProfile": {"type": "RuntimeDefault"}}


@pytest.mark.parametrize("values, error", [
    ("overlay=self-singed", "there is no \"self-singed\"; there are bearer-tokens, cert-manager"),
    ("webhook.arguments={--a}", "additional properties 'arguments' not allowed"),
    ("reconciler.args={log-level=debug}", "does not match pattern"),
    ("webhook.replicas=-1", "minimum"),
    ("webhook.pod.containers={}", "'not' failed"),
    ("runtimes=all", "must be one of"),
    ("jobset.install=yes", "got string, want boolean"),
    ("imageRegistry=registry.example/team", "does not match pattern"),
    ("imagePullSecrets={pull}", "got string, want object"),
    ("commonLabels.a=1", "got number, want string"),
    ("progress.enabled=maybe", "got string, want boolean"),
    ("metrics.secure=maybe", "got string, want boolean"),
    ("accountPolicy=no", "got string, want boolean"),
    ("namespaces=team-a", "got string, want array"),
    ("namespaces={team-a,team-a}", "are equal"),
    ("namespaces={Team}", "does not match pattern"),
    ("namespaces={a\\,b}", "does not match pattern"),
])
def test_invalid_values_are_rejected(helm, chart, values, error):
    run = helm("template", "signalbox", chart, "--set", values)
    assert run.returncode != 0 and error in run.stderr


def test_crds_and_the_namespace_can_be_left_to_others(template):
    everything, without = template(), template("--set", "crds=false,namespace=false")
    assert {kind for kind, _ in everything.keys() - without.keys()} == KEPT
    assert all(everything[each] == without[each] for each in without)


def test_the_policy_of_our_accounts_can_be_left_out(template):
    everything, without = template(), template("--set", "accountPolicy=false")
    assert {kind for kind, _ in everything.keys() - without.keys()} == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert all(everything[each] == without[each] for each in without)
