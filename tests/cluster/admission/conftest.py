"""Both programs. The webhook reaches the API server through a proxy, which forwards everything unless a test sets a fault."""

import os

import pytest

from controlplane.kubeconfig import write_kubeconfig
from deployment import Signalbox
from fault_proxy import FaultProxy


class BehindProxy(Signalbox):
    def __init__(self, cluster, binaries, proxy):
        super().__init__(cluster, binaries)
        self._proxy = proxy

    def webhook_kubeconfig(self):
        path = super().webhook_kubeconfig()
        behind = path.with_name("webhook-behind-a-proxy.kubeconfig")
        write_kubeconfig(behind, self._proxy.url, self._cluster.ca_file, {"tokenFile": str(path.with_suffix(".token"))})
        return behind


@pytest.fixture(scope="session")
def proxy(cluster):
    with FaultProxy(cluster) as between:
        yield between


@pytest.fixture(scope="session")
def installed(cluster, proxy):
    with BehindProxy(cluster, os.environ["SIGNALBOX_BIN_DIR"], proxy) as signalbox:
        signalbox.install_runtimes()
        yield signalbox
