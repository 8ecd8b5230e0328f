"""Invented devices, which the scheduler of the control plane allocates to Pods by their claims."""

API = "/apis/resource.k8s.io/v1"
DRIVER = "devices.example.com"


def install(admin, *models, number=4):
    """Installs so many devices of each model on the first node, and a class of devices for each. Returns their ResourceSlice."""
    node = admin.list("nodes")[0]["metadata"]["name"]
    for model in models:
        install_class(admin, model)
    return admin.request("POST", f"{API}/resourceslices", _slice("-".join(models), {"nodeName": node}, [
        _device(model, index) for model in models for index in range(number)]))


def install_class(admin, model):
    """Installs the class of a model's devices, which has its name."""
    rule = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "{model}"'
    admin.request("POST", f"{API}/deviceclasses", {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": model},
        "spec": {"selectors": [{"cel": {"expression": rule}}]}})


def install_slice(admin, name, nodes, model, number):
    """Installs so many devices of a model. nodes: the part of the ResourceSlice that says which nodes reach them."""
    admin.request("POST", f"{API}/resourceslices", _slice(name, nodes, [_device(model, index) for index in range(number)]))


def _slice(name, nodes, devices):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
            "spec": {"driver": DRIVER, **nodes, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}, "devices": devices}}


def _device(model, index):
    return {"name": f"{model}-{index}", "attributes": {"model": {"string": model}}}


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
