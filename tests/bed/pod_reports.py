"""Reports of progress as Pods of TrainJobs send them, from this machine: the test bed's Pods run nothing."""

import base64
import http.client
import json
import pathlib
import socket
import ssl
import time

from rest import ApiError

JOB_SET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"
# Kubernetes' DNS knows the Service, and this machine does not: takes the place of Python's look-up of names.
RESOLVER = """
import json, os, socket
_hosts, _look_up = json.loads(os.environ["HOSTS_OF_TEST"]), socket.getaddrinfo
def getaddrinfo(host, port, *more, **options):
    host, port = _hosts.get(host if isinstance(host, str) else host.decode(), (host, port))
    return _look_up(host, port, *more, **options)
socket.getaddrinfo = getaddrinfo
"""


def audience_of(namespace, job):
    return f"trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{job}/status"


def ca_of(secret):
    return base64.b64decode(secret["data"]["ca.crt"]).decode()


def token_of(rest, pod, audience, account="default"):
    """Returns a token as the kubelet puts it into the Pod's volume."""
    path = rest.path("serviceaccounts", account, pod["metadata"]["namespace"]) + "/token"
    return rest.request("POST", path, bound_token_request(pod, audience))["status"]["token"]


def pod_of(name, job_set):
    """Returns a Pod of that JobSet, as the Job controller makes it."""
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "node", "image": "any"}]}, "metadata": {
        "name": name, "namespace": job_set["metadata"]["namespace"],
        "labels": {"jobset.sigs.k8s.io/jobset-uid": job_set["metadata"]["uid"]},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "any", "uid": job_set["metadata"]["uid"],
                             "controller": True}]}}


def bound_token_request(pod, audience):
    """Returns the TokenRequest by which the kubelet asks for the token of the Pod's volume."""
    bound = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {
        "audiences": [audience], "expirationSeconds": 3600, "boundObjectRef": bound}}


def make_pod(rest, job):
    """Plays the controllers: makes the TrainJob's JobSet and a Pod of it. Returns the Pod's token for reports."""
    meta = job["metadata"]
    owner = {"apiVersion": job["apiVersion"], "kind": "TrainJob", "name": meta["name"], "uid": meta["uid"], "controller": True}
    job_set = rest.request("POST", JOB_SET.format(meta["namespace"]), {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": []},
        "metadata": {"name": meta["name"], "ownerReferences": [owner]}})
    try:
        rest.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": meta["namespace"]}})
    except ApiError as error:
        assert error.code == 409
    pod = rest.create(pod_of(f"{meta['name']}-0", job_set))
    return token_of(rest, pod, audience_of(meta["namespace"], meta["name"]))


def report(port, name, ca, namespace, job, token, percentage=42, seconds_ago=0, **members):
    """Sends one report of that many seconds ago, with other `members`, to the server of that name at this port. Returns status and body."""
    context = ssl.create_default_context(cadata=ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    connection = http.client.HTTPSConnection(name, port, context=context, timeout=20)
    connection.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname=name)
    try:
        updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))
        body = {"trainerStatus": {"progressPercentage": percentage, "lastUpdatedTime": updated, **members}}
        connection.request("POST", f"/apis/{audience_of(namespace, job)}", json.dumps(body), {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def environment_of(rest, pod, directory, port):
    """Writes the files of the Pod's projected volumes below `directory`. Returns the variables of a process in place of the Pod's first
    container, for which the server listens at this port of this machine."""
    directory = pathlib.Path(directory)
    container = pod["spec"]["containers"][0]
    variables = {each["name"]: each.get("value", "") for each in container.get("env", [])}
    mounts = {each["name"]: each["mountPath"] for each in container.get("volumeMounts", [])}
    for volume in pod["spec"]["volumes"]:
        if "projected" not in volume or volume["name"] not in mounts or volume["name"].startswith("kube-api-access"):
            continue
        folder = directory / volume["name"]
        folder.mkdir(parents=True)
        for source in volume["projected"]["sources"]:
            for path, text in files_of(rest, pod, source):
                (folder / path).write_text(text)
        variables = {name: value.replace(mounts[volume["name"]], str(folder)) for name, value in variables.items()}
    (directory / "sitecustomize.py").write_text(RESOLVER)
    host = variables["KUBEFLOW_TRAINER_SERVER_URL"].split("/")[2].rpartition(":")[0]
    return {**variables, "PYTHONPATH": str(directory), "HOSTS_OF_TEST": json.dumps({host: ["127.0.0.1", port]})}


def files_of(rest, pod, source):
    namespace = pod["metadata"]["namespace"]
    if "serviceAccountToken" in source:
        wanted = source["serviceAccountToken"]
        yield wanted["path"], token_of(rest, pod, wanted["audience"], pod["spec"].get("serviceAccountName", "default"))
    if "configMap" in source:
        data = rest.get("configmaps", source["configMap"]["name"], namespace)["data"]
        for item in source["configMap"]["items"]:
            yield item["path"], data[item["key"]]
