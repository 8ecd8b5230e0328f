#include "settings.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

namespace {

struct CommandLine {
    reconciler::Settings settings = {};
    net::Options options{"signalbox-reconciler", "summary", "0"};

    api::Result<> read(const std::vector<const char*>& words) {
        reconciler::add_options(options, settings);
        if (const auto parsed = options.parse(words); !parsed) return parsed.error();
        return reconciler::check(settings);
    }
};

}  // namespace

TEST_CASE("by default, the reconciler uses leader election and always writes Created") {
    CommandLine line;
    REQUIRE(line.read({}));
    CHECK(line.settings.leader_elect);
    CHECK(line.settings.concurrency == 64);
    CHECK(line.settings.created_condition == lifecycle::CreatedCondition::always);
}

TEST_CASE("every option sets its setting") {
    CommandLine line;
    REQUIRE(line.read({"--leader-elect=false", "--lease", "ns/name", "--created-condition=on-failure",
                       "--qps", "20", "--burst", "40", "--concurrency", "8"}));
    CHECK(!line.settings.leader_elect);
    CHECK(line.settings.lease == api::ObjectKey{"ns", "name"});
    CHECK(line.settings.created_condition == lifecycle::CreatedCondition::on_failure);
    CHECK(line.settings.qps == 20);
    CHECK(line.settings.burst == 40);
    CHECK(line.settings.concurrency == 8);
}

TEST_CASE("options of secure metrics belong together") {
    CommandLine good;
    REQUIRE(good.read({"--metrics-secure", "--metrics-listen=:9090", "--metrics-cert=a", "--metrics-key=b",
                       "--tls-min-version=1.3"}));
    CHECK(good.settings.metrics == kube::MetricsSettings{.secure = true, .listen = {"::", 9090}});
    CHECK(good.settings.tls.min_version == net::TlsVersion::v1_3);
    struct Case {
        std::vector<const char*> words;
        const char* error;
    };
    for (const Case& c :
         {Case{{"--metrics-listen=:9090"}, "--metrics-listen is for --metrics-secure"},
          Case{{"--metrics-cert=a", "--metrics-key=b"}, "--metrics-cert is for --metrics-secure"},
          Case{{"--metrics-secure", "--metrics-cert=a"}, "--metrics-key is missing"},
          Case{{"--metrics-secure", "--metrics-key=b"}, "--metrics-cert is missing"},
          Case{{"--tls-min-version=1.3", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
               "--tls-cipher-suites has suites of TLS 1.2 only"}}) {
        CommandLine line;
        const auto read = line.read(c.words);
        REQUIRE(read.has_error());
        CHECK_THAT(read.error().message, Catch::StartsWith(c.error));
    }
}

TEST_CASE("the lease is the one that other reconcilers of this cluster use") {
    struct Case {
        const char* name;
        std::vector<const char*> words;
        std::string pod_namespace;
        api::ObjectKey want;
    };
    for (const Case& c :
         {Case{"in a pod: its namespace", {}, "training", {"training", "trainer.kubeflow.org"}},
          Case{"with a kubeconfig: that of the installation",
               {},
               "",
               {"kubeflow-system", "trainer.kubeflow.org"}},
          Case{"as said", {"--lease", "a/b"}, "training", {"a", "b"}}}) {
        INFO(c.name);
        CommandLine line;
        REQUIRE(line.read(c.words));
        CHECK(reconciler::lease_of(line.settings, c.pod_namespace) == c.want);
    }
}

TEST_CASE("usage errors name the option") {
    struct Case {
        std::vector<const char*> words;
        std::string named;
    };
    for (const Case& c :
         {Case{{"--concurrency", "0"}, "--concurrency"}, Case{{"--qps", "-1"}, "--qps"},
          Case{{"--burst", "5"}, "--qps"}, Case{{"--nonsense"}, "--nonsense"},
          Case{{"--created-condition=sometimes"}, "created-condition"}, Case{{"--lease", "a/b/c"}, "lease"},
          Case{{"--feature-gates", "TrainJobStats=true"}, "TrainJobStats"},
          Case{{"--accelerators", "acme.com/npu"},
               "--accelerators=acme.com/npu: must be a list of NAME=MEANING"},
          Case{{"--gang-schedulers", "yunikorn=yunikorn"}, "the policies are coscheduling and volcano"},
          Case{{"--gang-schedulers", "volcano="}, "a name is that of a scheduler"},
          Case{{"--feature-gates", "TrainJobProgressDeadline=true"}, "needs TrainJobStatus=true"},
          Case{{"--status-url", "https://a:1"}, "--feature-gates TrainJobStatus=true"},
          Case{{"--status-ca-secret", "a/b"}, "--feature-gates TrainJobStatus=true"},
          Case{{"--feature-gates=TrainJobStatus=true", "--status-url=http://a"}, "https://"},
          Case{{"--feature-gates=TrainJobStatus=true", "--status-url=https://"}, "https://"}}) {
        CommandLine line;
        const auto read = line.read(c.words);
        REQUIRE(!read);
        CHECK_THAT(describe(read.error()), Catch::Contains(c.named));
    }
}

TEST_CASE("the status server is that of the manifests by default") {
    struct Case {
        const char* name;
        std::vector<const char*> words;
        std::string pod_namespace;
        std::optional<runtime::StatusServer> want;
    };
    const char* const on = "--feature-gates=TrainJobStatus=true";
    for (const Case& c :
         {Case{"gate off", {}, "ops", std::nullopt},
          Case{"explicitly off", {"--feature-gates=TrainJobStatus=false"}, "ops", std::nullopt},
          Case{"in a pod: in its namespace",
               {on},
               "ops",
               runtime::StatusServer{"https://signalbox-progress.ops.svc:10443",
                                     {"ops", "signalbox-progress-cert"}}},
          Case{"with a kubeconfig: where it is installed",
               {on},
               "",
               runtime::StatusServer{"https://signalbox-progress.kubeflow-system.svc:10443",
                                     {"kubeflow-system", "signalbox-progress-cert"}}},
          Case{"as said",
               {on, "--status-url", "https://s.example.com/", "--status-ca-secret", "a/b"},
               "ops",
               runtime::StatusServer{"https://s.example.com", {"a", "b"}}}}) {
        INFO(c.name);
        CommandLine line;
        REQUIRE(line.read(c.words));
        CHECK(controller::status_server_of(line.settings.build, c.pod_namespace) == c.want);
    }
}

TEST_CASE("progress is watched by its gates, and by the Lease of the server's namespace") {
    using lifecycle::ProgressWatch;
    struct Case {
        std::vector<const char*> words;
        ProgressWatch want;
    };
    for (const Case& c :
         {Case{{}, ProgressWatch::off}, Case{{"--feature-gates=TrainJobStatus=true"}, ProgressWatch::reports},
          Case{{"--feature-gates=TrainJobStatus=true", "--feature-gates=TrainJobProgressDeadline=true"},
               ProgressWatch::deadlines}}) {
        CommandLine line;
        REQUIRE(line.read(c.words));
        const auto settings = controller::progress_settings_of(line.settings.build, "ops");
        CHECK(settings.watch == c.want);
        if (c.want == ProgressWatch::off) continue;
        CHECK(settings.lease == api::ObjectKey{"ops", "signalbox-progress"});
        CHECK(controller::progress_settings_of(line.settings.build, "").lease.ns == "kubeflow-system");
    }
}
