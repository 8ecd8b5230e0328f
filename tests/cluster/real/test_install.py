"""What README.md installs runs as Pods. The fixtures have given its commands."""


def containers(admin, namespace):
    """Returns the status of each container of the namespace's Pods."""
    return [status for pod in admin.list("pods", namespace) for status in pod["status"]["containerStatuses"]]


def test_the_programs_run_from_the_images_that_the_script_has_loaded(installed, admin):
    running = containers(admin, "kubeflow-system")
    assert {status["image"].rpartition(":")[0] for status in running} == {"localhost/signalbox-webhook", "localhost/signalbox-reconciler"}
    assert [status for status in running if "running" not in status["state"] or status["restartCount"]] == []


def test_job_set_runs_from_its_released_manifests(installed, admin):
    controller, = containers(admin, "jobset-system")
    assert controller["ready"] and controller["image"].startswith("registry.k8s.io/jobset/jobset:v")
