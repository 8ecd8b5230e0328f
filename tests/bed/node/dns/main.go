// CoreDNS with the plugins that a cluster's own names need. There is no way out of the test bed, so nothing is forwarded.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func init() {
	dnsserver.Directives = []string{"bind", "errors", "kubernetes"}
}

func main() {
	coremain.Run()
}
