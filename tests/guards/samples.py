"""Checks that documents and examples also run outside of the test bed, whose nodes only pretend to run containers: torchrun's own parser
accepts each of its commands, programs compile, a file that is run is in the user's image or mounted, and each runtime has what
Kubeflow's Python SDK requires."""

import contextlib
import io
import pathlib
import re
import sys

import yaml
from torch.distributed.run import get_args_parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("manifests/**/*.md"))]
EXAMPLES = sorted(ROOT.glob("manifests/examples/*.yaml"))
RUNTIMES = sorted(path for path in ROOT.glob("manifests/runtimes/*.yaml") if path.stem != "kustomization")
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
FRAMEWORK = "trainer.kubeflow.org/framework"


def objects_of(path):
    text = path.read_text()
    texts = YAML.findall(text) if path.suffix == ".md" else [text]
    return [each for one in texts for each in yaml.safe_load_all(one) if isinstance(each, dict)]


def is_runtime(thing):
    return thing.get("kind") in ("TrainingRuntime", "ClusterTrainingRuntime")


def pod_specs(spec):
    for job in spec.get("template", {}).get("spec", {}).get("replicatedJobs", []):
        yield job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {})


def containers(spec):
    return [each for pod in pod_specs(spec) for each in pod.get("containers", [])]


def image_of_node(runtime):
    return next((each["image"] for each in containers(runtime["spec"]) if each["name"] == "node"), None)


STOCK = {each.get("image") for path in RUNTIMES for runtime in objects_of(path) for each in containers(runtime["spec"])}
SHIPPED = {runtime["metadata"]["name"]: runtime for path in RUNTIMES for runtime in objects_of(path)}


def commands(things):
    """Yields each command of TrainJobs and runtimes, with its image and the paths of its mounts."""
    runtimes = SHIPPED | {each["metadata"]["name"]: each for each in things if is_runtime(each)}
    for each in things:
        if is_runtime(each):
            for container in containers(each["spec"]):
                mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
                yield [*container.get("command", []), *container.get("args", [])], container.get("image"), mounts
        elif each.get("kind") == "TrainJob" and "trainer" in each["spec"]:
            spec, trainer = each["spec"], each["spec"]["trainer"]
            runtime = runtimes.get(spec["runtimeRef"]["name"])
            mounts = [mount["mountPath"] for patch in spec.get("runtimePatches", [])
                      for container in containers(patch.get("trainingRuntimeSpec", {})) for mount in container.get("volumeMounts", [])]
            image = trainer.get("image") or (runtime and image_of_node(runtime))
            yield [*trainer.get("command", []), *map(str, trainer.get("args", []))], image, mounts


def problem_of(command, image, mounts):
    program, *words = command or [""]
    if program == "mpirun":
        return problem_of(words, image, mounts)
    if program == "torchrun":
        try:
            with contextlib.redirect_stderr(io.StringIO()) as said:
                options = get_args_parser().parse_args(words)
        except SystemExit:
            return said.getvalue().strip().splitlines()[-1]
        words = [options.training_script, *options.training_script_args]
        return problem_of(words if options.no_python else ["python", *words], image, mounts)
    if program in ("python", "python3") and words[:1] == ["-c"]:
        return mistake_in(words[1])
    if program in ("python", "python3") and words and words[0].endswith(".py"):
        if image in (None, *STOCK) and not any(words[0].startswith(f"{mount}/") for mount in mounts):
            return f"{words[0]} is not in the image {image}"
    return None


def mistake_in(program):
    try:
        compile(program, "program", "exec")
    except SyntaxError as error:
        return str(error)
    return None


def lacks(runtime):
    if FRAMEWORK not in runtime["metadata"].get("labels", {}):
        yield f"the label {FRAMEWORK}"
    if not runtime["spec"].get("mlPolicy"):
        yield "an mlPolicy"


def problems():
    seen = 0
    for path in [*GUIDES, *EXAMPLES, *RUNTIMES]:
        things, name = objects_of(path), path.relative_to(ROOT)
        for command, *rest in commands(things):
            seen += bool(command)
            if problem := problem_of(command, *rest):
                yield f"{name}: {command}: {problem}"
        for program in PYTHON.findall(path.read_text()):
            if problem := mistake_in(program):
                yield f"{name}: {problem}"
        for runtime in filter(is_runtime, things):
            yield from (f"{name}: the runtime {runtime['metadata']['name']} lacks {what}" for what in lacks(runtime))
    if seen < 20:
        yield "the commands were not found"


def main():
    found = list(problems())
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
