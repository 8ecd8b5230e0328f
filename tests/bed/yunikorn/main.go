// YuniKorn's scheduler as its own main program starts it (pkg/cmd/shim of yunikorn-k8shim), but without its web server, which would listen
// at a fixed port of all addresses.
package main

import (
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/apache/yunikorn-core/pkg/entrypoint"
	core "github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-k8shim/pkg/client"
	"github.com/apache/yunikorn-k8shim/pkg/conf"
	shimlog "github.com/apache/yunikorn-k8shim/pkg/log"
	"github.com/apache/yunikorn-k8shim/pkg/plugin/predicates"
	"github.com/apache/yunikorn-k8shim/pkg/shim"
)

func main() {
	predicates.EnableOptionalKubernetesFeatureGates()
	settings, err := client.LoadBootstrapConfigMaps()
	if err != nil {
		log.Fatal(err)
	}
	if err := conf.UpdateConfigMaps(settings, true); err != nil {
		log.Fatal(err)
	}
	core.InitializeLogger(shimlog.RootLogger(), shimlog.GetZapConfigs())
	services := entrypoint.StartAllServicesWithParams(false, false)
	scheduler := shim.NewShimScheduler(services.RMProxy, conf.GetSchedulerConf(), settings)
	if err := scheduler.Run(); err != nil {
		log.Fatal(err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
	scheduler.Stop()
}
