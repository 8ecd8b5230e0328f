"""Kubeconfig files."""

import json


def write_kubeconfig(path, server, ca_file, user, namespace="default"):
    """Writes one cluster, one user, and one context with that namespace. (JSON is YAML.)"""
    path.touch(mode=0o600)
    path.write_text(json.dumps({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(ca_file)}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user", "namespace": namespace}}],
        "current-context": "test",
    }, indent=1))
