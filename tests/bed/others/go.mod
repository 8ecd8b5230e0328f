// Whose custom resources our overlays use: only their CRDs, for an API server to check those overlays by.
module signalbox.test/others

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
