"""TrainJobs of the tests on real nodes."""


def train_job(name, runtime, command, nodes=1, trainer=None, **spec):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name}, "spec": {
        "runtimeRef": {"name": runtime}, **spec,
        "trainer": {"numNodes": nodes, "command": command, "resourcesPerNode": {"requests": {"cpu": "50m"}}, **(trainer or {})}}}


def pod_specs(runtime):
    return [job["template"]["spec"]["template"]["spec"] for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]]
