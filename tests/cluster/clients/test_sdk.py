"""Kubeflow's Python SDK on the real control plane, as a data scientist uses it: submitted jobs run, and the SDK reports their true
state."""

import logging

import pytest
import yaml
from kubeflow.trainer import (BuiltinTrainer, CustomTrainer, CustomTrainerContainer, DataFormat, DataType,
                              HuggingFaceDatasetInitializer, HuggingFaceModelInitializer, Initializer, KubernetesBackendConfig,
                              LoraConfig, TorchTuneConfig, TorchTuneInstructDataset, TrainerClient)
from kubeflow.trainer.options import (ActiveDeadlineSeconds, Annotations, JobSetSpecPatch, JobSetTemplatePatch, JobSpecPatch,
                                      JobTemplatePatch, Labels, Name, PodSpecPatch, PodTemplatePatch, ReplicatedJobPatch,
                                      RuntimePatch, TrainerArgs, TrainerCommand, TrainingRuntimeSpecPatch)

from paths import ROOT
from jobs import runtime, train_job
from rest import conditions, true_conditions, wait_for

IMAGE = "registry.example.com/team/train:1.0"


@pytest.fixture
def client(kubeconfig, signalbox, namespace):
    return TrainerClient(KubernetesBackendConfig(config_file=str(kubeconfig), namespace=namespace))


def pods_that(seconds=None, outcome=None, job="node", **pod_spec):
    """Returns an option of the SDK that sets how long the test bed's pods run. The SDK takes one patch for each job."""
    labels = {"signalbox.test/run-seconds": seconds, "signalbox.test/outcome": outcome}
    metadata = {"labels": {name: value for name, value in labels.items() if value}}
    pod = PodTemplatePatch(metadata=metadata, spec=PodSpecPatch(**pod_spec) if pod_spec else None)
    replicated = ReplicatedJobPatch(name=job, template=JobTemplatePatch(spec=JobSpecPatch(template=pod)))
    jobs = JobSetTemplatePatch(spec=JobSetSpecPatch(replicated_jobs=[replicated]))
    return RuntimePatch(training_runtime_spec=TrainingRuntimeSpecPatch(template=jobs))


def node(rest, job, container="node", replicated="node"):
    """Returns a container of a pod template in the JobSet of a TrainJob."""
    job_set = wait_for("the JobSet", lambda: rest.get("jobsets", job))
    spec, = [each["template"]["spec"]["template"]["spec"] for each in job_set["spec"]["replicatedJobs"]
             if each["name"] == replicated]
    return next(each for each in spec["containers"] if each["name"] == container)


def train_a_model(rate, epochs=1):
    print(f"training at {rate} for {epochs}")


def events_of_job(client, name):
    return [event for event in client.get_job_events(name) if event.involved_object_kind == "TrainJob"]


def test_it_finds_the_control_plane_without_a_warning(kubeconfig, signalbox, namespace, caplog):
    with caplog.at_level(logging.WARNING):
        TrainerClient(KubernetesBackendConfig(config_file=str(kubeconfig), namespace=namespace))
    assert not caplog.records


def test_every_shipped_runtime_is_listed_with_its_framework(client, rest):
    shipped = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / "manifests" / "runtimes").glob("*.yaml")
               if path.stem != "kustomization"}
    listed = {each.name: each for each in client.list_runtimes()}
    assert listed.keys() == {each["metadata"]["name"] for each in shipped.values()}
    for each in shipped.values():
        name = each["metadata"]["name"]
        framework = each["metadata"]["labels"]["trainer.kubeflow.org/framework"]
        assert listed[name].trainer.framework == framework
        assert listed[name].trainer.image
        assert listed[name].trainer.num_nodes == each["spec"]["mlPolicy"]["numNodes"]
        builtin = framework == "torchtune"
        assert listed[name].trainer.trainer_type.value == ("BuiltinTrainer" if builtin else "CustomTrainer")
        assert client.get_runtime(name) == listed[name]


def test_a_function_is_trained_on_the_nodes_and_waited_for(client, rest):
    name = client.train(runtime="torch-distributed", options=[Labels({"team": "vision"}), Annotations({"why": "test"})],
                        trainer=CustomTrainer(func=train_a_model, func_args={"rate": 0.1}, num_nodes=2, env={"SEED": "7"},
                                              packages_to_install=["einops"],
                                              resources_per_node={"cpu": 2, "memory": "1Gi"}))
    done = client.wait_for_job_status(name, timeout=60, polling_interval=1)
    assert (done.status, done.num_nodes, done.runtime.name) == ("Complete", 2, "torch-distributed")
    assert sorted(step.name for step in done.steps) == ["node-0", "node-1"]
    assert {(step.status, step.device, step.device_count) for step in done.steps} == {("Succeeded", "cpu", "2")}
    container = node(rest, name)
    assert container["command"][:2] == ["bash", "-c"] and "train_a_model(**{'rate': 0.1})" in container["command"][2]
    assert {"name": "SEED", "value": "7"} in container["env"]
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "1Gi"} == container["resources"]["requests"]
    stored = rest.get("trainjobs", name)
    assert stored["metadata"]["labels"]["team"] == "vision" and stored["metadata"]["annotations"]["why"] == "test"


def test_an_image_runs_with_the_users_command_and_arguments(client, rest):
    name = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE, num_nodes=1),
                        options=[Name("own-image"), TrainerCommand(["python", "train.py"]), TrainerArgs(["--fast"])])
    assert name == "own-image"
    assert client.wait_for_job_status(name, timeout=60, polling_interval=1).status == "Complete"
    container = node(rest, name)
    assert (container["image"], container["command"], container["args"]) == (IMAGE, ["python", "train.py"], ["--fast"])


def test_a_model_is_fine_tuned_by_configuration(client, rest):
    tuning = TorchTuneConfig(dtype=DataType.BF16, batch_size=4, epochs=2, num_nodes=1, resources_per_node={"gpu": 1},
                             peft_config=LoraConfig(lora_rank=8, lora_attn_modules=["q_proj"]),
                             dataset_preprocess_config=TorchTuneInstructDataset(source=DataFormat.PARQUET))
    sources = Initializer(dataset=HuggingFaceDatasetInitializer("hf://tatsu-lab/alpaca/data", access_token="t0ken"),
                          model=HuggingFaceModelInitializer("hf://meta-llama/Llama-3.2-1B-Instruct"))
    name = client.train(runtime="torchtune-llama3.2-1b", trainer=BuiltinTrainer(tuning), initializer=sources)
    container = node(rest, name)
    assert container["command"][:2] == ["tune", "run"]
    words = [*container["command"], *container.get("args", [])]
    for word in ("dtype=bf16", "batch_size=4", "epochs=2", "model.lora_rank=8", "dataset.source=parquet",
                 "dataset.data_dir=/workspace/dataset/data"):
        assert word in words
    for kind, uri in (("dataset", "hf://tatsu-lab/alpaca/data"), ("model", "hf://meta-llama/Llama-3.2-1B-Instruct")):
        initializer = node(rest, name, f"{kind}-initializer", f"{kind}-initializer")
        assert {"name": "STORAGE_URI", "value": uri} in initializer["env"]
    client.delete_job(name)


def test_patches_reach_the_pods(client, rest):
    name = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE),
                        options=[pods_that("never", service_account_name="trainer", node_selector={"pool": "a100"})])
    job_set = wait_for("the JobSet", lambda: rest.get("jobsets", name))
    spec = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert (spec["serviceAccountName"], spec["nodeSelector"]) == ("trainer", {"pool": "a100"})
    manager, = [patch["manager"] for patch in rest.get("trainjobs", name)["spec"]["runtimePatches"]]
    assert manager == "trainer.kubeflow.org/kubeflow-sdk"


def test_jobs_are_listed_by_runtime_and_deleted(client, rest):
    plain = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE), options=[pods_that("never")])
    torch = client.train(runtime="torch-distributed", trainer=CustomTrainerContainer(image=IMAGE), options=[pods_that("never")])
    assert {job.name for job in client.list_jobs()} == {plain, torch}
    assert [job.name for job in client.list_jobs(client.get_runtime("plain"))] == [plain]
    client.delete_job(plain)
    client.delete_job(torch)
    wait_for("both to be gone", lambda: client.list_jobs() == [])


def test_a_failure_and_a_deadline_are_reported(client, rest):
    once = runtime("one-attempt")
    once["metadata"]["labels"] = {"trainer.kubeflow.org/framework": "plain"}
    rest.create(once)
    failing = client.train(runtime="one-attempt", trainer=CustomTrainerContainer(image=IMAGE),
                           options=[pods_that(outcome="failed")])
    late = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE),
                        options=[pods_that("never"), ActiveDeadlineSeconds(2)])
    for name in (failing, late):
        assert client.wait_for_job_status(name, {"Failed"}, timeout=90, polling_interval=1).status == "Failed"
    with pytest.raises(RuntimeError, match="is Failed"):
        client.wait_for_job_status(late, timeout=60, polling_interval=1)
    wait_for("the event, written after the status", lambda: "DeadlineExceeded" in {event.reason for event in events_of_job(client, late)})
    for event in events_of_job(client, late):
        assert event.message and event.event_time


def test_events_of_a_job_are_listed_in_their_order(client):
    name = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE))
    client.wait_for_job_status(name, timeout=60, polling_interval=1)
    wait_for("both events in their order", lambda: [event.reason for event in events_of_job(client, name)] == [
        "JobsCreationSucceeded", "AllJobsCompleted"])


def test_a_running_job_shows_as_created(client):
    name = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE), options=[pods_that("never")])
    wait_for("its pod to run", lambda: [step.status for step in client.get_job(name).steps] == ["Running"])
    assert client.get_job(name).status == "Created"


def test_a_running_job_shows_as_running_if_created_is_for_failures_only_until_it_is_resumed(signalbox, client, rest):
    with signalbox.reconfigured("--created-condition=on-failure"):
        name = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE), options=[pods_that("never")])
        assert client.wait_for_job_status(name, {"Running"}, timeout=60, polling_interval=1).status == "Running"
        rest.patch("trainjobs", name, {"spec": {"suspend": True}})
        wait_for("it to be suspended", lambda: "Suspended" in true_conditions(rest.get("trainjobs", name)))
        rest.patch("trainjobs", name, {"spec": {"suspend": False}})
        wait_for("it to be resumed", lambda: not true_conditions(rest.get("trainjobs", name)))
        wait_for("its pod to run", lambda: [step.status for step in client.get_job(name).steps] == ["Running"])
        # Suspended=False is a condition, too.
        assert conditions(rest.get("trainjobs", name)).keys() == {"Suspended"}
        assert client.get_job(name).status == "Created"
        with pytest.raises(TimeoutError):
            client.wait_for_job_status(name, {"Running"}, timeout=2, polling_interval=1)


# What docs/python-sdk.md warns of ------------------------------------------------------------------------------------------

def of_the_sdk(name, framework="plain"):
    made = runtime(name)
    made["metadata"]["labels"] = {"trainer.kubeflow.org/framework": framework} if framework else {}
    return made


def cannot_list_its_job(client, rest, name):
    """As long as this job exists, no job can be listed."""
    other = client.train(runtime="plain", trainer=CustomTrainerContainer(image=IMAGE), options=[pods_that("never")])
    with pytest.raises(RuntimeError, match="Failed to list"):
        client.list_jobs()
    assert client.get_job(other).name == other
    rest.delete("trainjobs", name)
    wait_for("the others to be listed again", lambda: listed(client) == [other])


def listed(client):
    try:
        return [job.name for job in client.list_jobs()]
    except RuntimeError:
        return None


def test_one_job_whose_runtime_was_deleted_and_no_job_is_listed(client, rest):
    rest.create(of_the_sdk("short-lived"))
    name = client.train(runtime="short-lived", trainer=CustomTrainerContainer(image=IMAGE), options=[pods_that("never")])
    rest.delete("clustertrainingruntimes", "short-lived")
    cannot_list_its_job(client, rest, name)


def test_a_runtime_without_the_label_is_left_out_and_its_jobs_break_the_list(client, rest):
    rest.create(of_the_sdk("unlabelled", framework=None))
    rest.create(train_job("unlabelled", "unlabelled", seconds="never"))
    assert "unlabelled" not in {each.name for each in client.list_runtimes()}
    cannot_list_its_job(client, rest, "unlabelled")


def test_one_runtime_with_the_label_and_without_a_policy_and_no_runtime_is_listed(client, rest):
    made = of_the_sdk("without-policy")
    del made["spec"]["mlPolicy"]
    rest.create(made)
    with pytest.raises(Exception, match="missing one or more required fields"):
        client.list_runtimes()
