// CoreDNS with the plugins that a cluster's own names need. There is no way out of the test bed, so nothing is forwarded: other names do not
// exist.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"
)

func init() {
	dnsserver.Directives = []string{"bind", "errors", "template", "kubernetes"}
}

func main() {
	coremain.Run()
}
