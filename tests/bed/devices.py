"""Invented devices, which the scheduler of the control plane allocates to Pods by their claims."""

API = "/apis/resource.k8s.io/v1"
DRIVER = "devices.example.com"


def install(admin, *models, number=4):
    """Installs so many devices of each model on the first node, and a class of devices for each. Returns their ResourceSlice."""
    node = admin.list("nodes")[0]["metadata"]["name"]
    for model in models:
        rule = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "{model}"'
        admin.request("POST", f"{API}/deviceclasses", {
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": model},
            "spec": {"selectors": [{"cel": {"expression": rule}}]}})
    return admin.request("POST", f"{API}/resourceslices", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "-".join(models)},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": {"name": "-".join(models), "generation": 1, "resourceSliceCount": 1},
                 "devices": [{"name": f"{model}-{index}", "attributes": {"model": {"string": model}}}
                             for model in models for index in range(number)]}})


def create_template(rest, model):
    """Creates a ResourceClaimTemplate of the model's name in the client's namespace."""
    rest.request("POST", f"{API}/namespaces/{rest.namespace}/resourceclaimtemplates", {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": model},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": model}}]}}}})


def claim(spec, model):
    """Makes the Pods of this spec claim a device of the model, by a claim that has the model's name."""
    spec["resourceClaims"] = [{"name": model, "resourceClaimTemplateName": model}]
    spec["containers"] = [{**spec.get("containers", [{"name": "node"}])[0], "resources": {"claims": [{"name": model}]}}]


def allocated(rest):
    """Returns the names of the allocated devices of all claims of the namespace."""
    claims = rest.request("GET", f"{API}/namespaces/{rest.namespace}/resourceclaims")["items"]
    return sorted(result["device"] for each in claims if "deletionTimestamp" not in each["metadata"]
                  for result in each.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []))


def taint(admin, name):
    """Adds a NoExecute taint to a device, as its driver does once it is broken."""
    for each in admin.request("GET", f"{API}/resourceslices")["items"]:
        for device in each["spec"]["devices"]:
            if device["name"] == name:
                device["taints"] = [{"key": f"{DRIVER}/broken", "effect": "NoExecute"}]
                admin.request("PUT", f"{API}/resourceslices/{each['metadata']['name']}", each)
