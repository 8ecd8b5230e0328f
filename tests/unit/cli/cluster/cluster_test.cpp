// The cluster that a command reads, by its options, the environment and files.
#include "cluster/cluster.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "cluster/session.hpp"
#include "support/printers.hpp"

using namespace std::chrono_literals;

namespace {

const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string kubeconfig(const std::string& host, const std::string& ns = "") {
    return "current-context: x\ncontexts: [{name: x, context: {cluster: c" +
           (ns.empty() ? "" : ", namespace: " + ns) +
           "}}]\nclusters: [{name: c, cluster: {server: 'https://" + host + "'}}]\n";
}

struct Fixture {
    std::map<std::string, std::string> environment = {{"HOME", "/home/me"}};
    std::map<std::string, std::string> files = {{"/home/me/.kube/config", kubeconfig("home", "own")},
                                                {"/a", kubeconfig("a")},
                                                {"/b", kubeconfig("b", "nb")}};
    std::vector<std::string> unreadable;
    cli::ClusterSettings settings;

    void be_a_pod() {
        environment["KUBERNETES_SERVICE_HOST"] = "pod-host";
        environment["KUBERNETES_SERVICE_PORT"] = "443";
        files[account + "token"] = "t";
        files[account + "ca.crt"] = "-----BEGIN CERTIFICATE-----";
        files[account + "namespace"] = "pod-ns";
    }
    kube::ReadEnv env() const {
        return [this](const char* name) {
            const auto found = environment.find(name);
            return found == environment.end() ? std::string() : found->second;
        };
    }
    kube::ReadFile read() const {
        return [this](const std::string& path) -> api::Result<std::string> {
            if (std::find(unreadable.begin(), unreadable.end(), path) != unreadable.end())
                return api::Error{.code = api::Errc::forbidden, .message = path + " cannot be read"};
            if (const auto found = files.find(path); found != files.end()) return found->second;
            return api::Error{.code = api::Errc::not_found, .message = path + " does not exist"};
        };
    }
    api::Result<kube::ClusterConfig> find() const { return cli::find_cluster(settings, env(), read()); }
    // Returns "HOST NAMESPACE", or the error.
    std::string found() const {
        const auto config = find();
        return config ? config->host + " " + config->ns : describe(config.error());
    }
};

}  // namespace

TEST_CASE("the kubeconfig is that of the option, of KUBECONFIG, or the one in the home directory", "[cli]") {
    Fixture fixture;
    CHECK(fixture.found() == "home own");
    fixture.environment["KUBECONFIG"] = "/a";
    CHECK(fixture.found() == "a default");
    fixture.environment["KUBECONFIG"] = "/b:/a";
    CHECK(fixture.found() == "b nb");
    fixture.settings.kubeconfig = "/a";
    CHECK(fixture.found() == "a default");
}

TEST_CASE("missing or repeated files of KUBECONFIG are ignored", "[cli]") {
    Fixture fixture;
    fixture.environment["KUBECONFIG"] = ":/missing:/b:/b::/missing";
    CHECK(fixture.found() == "b nb");
    CHECK(fixture.find()->source == "kubeconfig /b, context \"x\"");
    fixture.environment["KUBECONFIG"] = "/a:/missing:/c";
    fixture.files["/c"] = "current-context: other";
    CHECK(fixture.found() == "a default");
}

TEST_CASE("a kubeconfig that exists but cannot be read is an error", "[cli]") {
    Fixture fixture;
    fixture.environment["KUBECONFIG"] = "/b:/a";
    fixture.unreadable = {"/a"};
    CHECK(fixture.found() == "/a cannot be read");
    fixture.settings.kubeconfig = "/missing";
    CHECK(fixture.found() == "/missing does not exist");
}

TEST_CASE("options override parts of the kubeconfig", "[cli]") {
    Fixture fixture;
    fixture.settings.ns = "mine";
    CHECK(fixture.found() == "home mine");
    fixture.settings.server = "https://there";
    CHECK(fixture.found() == "there mine");
    fixture.settings.as = "jane";
    fixture.settings.as_groups = {"g"};
    CHECK(fixture.find()->as.user == "jane");
    CHECK(fixture.find()->as.groups == std::vector<std::string>{"g"});
    fixture.settings.context = "no";
    CHECK(fixture.found() ==
          "/home/me/.kube/config: --context names \"no\", which is not in contexts; there are x");
}

TEST_CASE("the address of kubectl proxy needs no kubeconfig", "[cli]") {
    Fixture fixture;
    fixture.files.clear();
    fixture.settings.server = "http://127.0.0.1:8001";
    CHECK(fixture.found() == "127.0.0.1 default");
}

TEST_CASE("in a Pod without a kubeconfig the service account is used", "[cli]") {
    Fixture fixture;
    fixture.be_a_pod();
    CHECK(fixture.found() == "home own");
    fixture.files.erase("/home/me/.kube/config");
    CHECK(fixture.found() == "pod-host pod-ns");
    CHECK(fixture.find()->token.file == account + "token");
    fixture.environment["POD_NAMESPACE"] = "variable";
    CHECK(fixture.found() == "pod-host variable");
    fixture.settings.ns = "mine";
    fixture.settings.as = "jane";
    CHECK(fixture.found() == "pod-host mine");
    CHECK(fixture.find()->as.user == "jane");
    fixture.settings.as.clear();
    fixture.settings.as_groups = {"g"};
    CHECK(fixture.found() == "--as-group and --as-uid need --as: name the user as well");
}

TEST_CASE("in a Pod a context without a namespace uses the Pod's", "[cli]") {
    Fixture fixture;
    fixture.be_a_pod();
    fixture.environment["KUBECONFIG"] = "/a";
    CHECK(fixture.found() == "a pod-ns");
    fixture.environment["KUBECONFIG"] = "/b";
    CHECK(fixture.found() == "b nb");
}

TEST_CASE("without any cluster the error lists where it was searched for", "[cli]") {
    Fixture fixture;
    fixture.files["/none"] = "{}";
    fixture.environment["KUBECONFIG"] = "/missing:/missing2";
    CHECK(fixture.found() ==
          "no cluster is configured: /missing:/missing2 does not exist; name a kubeconfig by $KUBECONFIG or "
          "--kubeconfig FILE");
    fixture.environment["KUBECONFIG"] = "/none";
    CHECK(fixture.found() ==
          "/none: current-context is not set; choose one with `kubectl config use-context NAME` or --context "
          "NAME");
}

TEST_CASE("the time for a request is a duration or a number of seconds", "[cli]") {
    struct Case {
        const char* text;
        std::chrono::milliseconds want;
    };
    for (const Case& c : {Case{"0", 0s}, Case{"5", 5s}, Case{"1m30s", 90s}, Case{"250ms", 250ms}}) {
        CAPTURE(c.text);
        cli::RequestTimeout timeout;
        REQUIRE(cli::read_option(c.text, timeout));
        CHECK(timeout.time == c.want);
    }
    cli::RequestTimeout timeout;
    for (const char* text : {"", "-1", "1.5", "soon", "5 s"}) CHECK(!cli::read_option(text, timeout));
    CHECK(cli::show_option(timeout) == "30s");
}

TEST_CASE("the proxy of the environment is used, except for hosts of NO_PROXY", "[cli]") {
    struct Row {
        const char* host;
        const char* no_proxy;
        bool direct;
    };
    const Row rows[] = {
        {"kube.example.com", "", false},
        {"kube.example.com", "*", true},
        {"kube.example.com", "example.com", true},
        {"kube.example.com", " other, Kube.Example.com ", true},
        {"example.com", ".example.com", false},
        {"kube.example.com", ".example.com", true},
        {"kube.example.com", "*.example.com", true},
        {"kube.example.com", "ample.com", false},
        {"kube.example.com", "example.com:6443", true},
        {"kube.example.com", "example.com:443", false},
        {"10.1.2.3", "10.0.0.0/8", true},
        {"10.1.2.3", "10.2.0.0/16, 192.168.0.1", false},
        {"10.1.2.3", "10.1.2.3:6443", true},
        {"fd00::1", "fd00::/8", true},
        {"fd00::1", "fd00::1", true},
        {"fd00::1", "[fd00::1]:6443", true},
        {"fd00::1", "[fd00::1]:443", false},
        {"localhost", "", true},
        {"127.0.0.1", "", true},
        {"::1", "", true},
    };
    for (const Row& row : rows) {
        INFO(row.host << " " << row.no_proxy);
        Fixture here;
        here.environment["HTTPS_PROXY"] = "http://proxy:3128";
        here.environment["no_proxy"] = row.no_proxy;
        CHECK(cli::proxy_of_variables(row.host, "6443", here.env()) ==
              (row.direct ? "" : "http://proxy:3128"));
    }
    Fixture here;
    CHECK_FALSE(here.find()->proxy);
    here.environment["https_proxy"] = "me:s3cret@proxy:3128";
    CHECK((here.find()->proxy == net::Proxy(net::HttpProxy{"proxy", "3128", "Basic bWU6czNjcmV0"})));
    here.environment["https_proxy"] = "https://me:s3cret@proxy";
    CHECK_THAT(here.found(),
               Catch::StartsWith("$HTTPS_PROXY must begin with http://") && !Catch::Contains("s3cret"));
    here.environment["NO_PROXY"] = "home";
    CHECK_FALSE(here.find()->proxy);
}

TEST_CASE("the names in the kubeconfig are listed, without files that cannot be read", "[cli]") {
    Fixture here;
    here.environment["KUBECONFIG"] = "/a:/missing:/broken:/b";
    here.files["/broken"] = "contexts: [";
    here.files["/b"] = "contexts: [{name: lab}, {name: x}, {}]\nusers: [{name: me}]";
    const auto names = [&](const char* list) {
        return cli::kubeconfig_names(here.settings, list, here.env(), here.read());
    };
    CHECK(names("contexts") == std::vector<std::string>{"lab", "x"});
    CHECK(names("clusters") == std::vector<std::string>{"c"});
    CHECK(names("users") == std::vector<std::string>{"me"});
}

TEST_CASE("a TrainJob is named as kubectl prints it, or with its namespace", "[cli]") {
    const std::pair<const char*, const char*> rows[] = {
        {"night", "team/night"},
        {"other/night", "other/night"},
        {"trainjob.trainer.kubeflow.org/night", "team/night"},
        {"trainjobs.trainer.kubeflow.org/night", "team/night"},
        {"trainjob/night", "trainjob/night"},
    };
    for (const auto& [text, key] : rows) {
        const auto read = cli::key_of(text, {}, "team");
        REQUIRE(read);
        CHECK(to_string(*read) == key);
    }
    for (const char* text :
         {"", "/a", "a/", "a/b/c", "trainjob.trainer.kubeflow.org/", "trainjob.trainer.kubeflow.org/a/b"})
        CHECK_FALSE(cli::key_of(text, {}, "team"));
}
