// The cluster that a command reads, by its options, the environment and files.
#include "cluster/cluster.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "support/printers.hpp"

using namespace std::chrono_literals;

namespace {

const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string kubeconfig(const std::string& host, const std::string& ns = "") {
    return "current-context: x\ncontexts: [{name: x, context: {cluster: c" +
           (ns.empty() ? "" : ", namespace: " + ns) +
           "}}]\nclusters: [{name: c, cluster: {server: 'https://" + host + "'}}]\n";
}

struct Room {
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
    api::Result<kube::ClusterConfig> find() const {
        return cli::find_cluster(
            settings,
            [this](const char* name) {
                const auto found = environment.find(name);
                return found == environment.end() ? std::string() : found->second;
            },
            [this](const std::string& path) -> api::Result<std::string> {
                if (std::find(unreadable.begin(), unreadable.end(), path) != unreadable.end())
                    return api::Error{.code = api::Errc::forbidden, .message = path + " cannot be read"};
                if (const auto found = files.find(path); found != files.end()) return found->second;
                return api::Error{.code = api::Errc::not_found, .message = path + " does not exist"};
            });
    }
    // Returns "HOST NAMESPACE", or the error.
    std::string found() const {
        const auto config = find();
        return config ? config->host + " " + config->ns : describe(config.error());
    }
};

}  // namespace

TEST_CASE("the kubeconfig is that of the option, of KUBECONFIG, or the one in the home directory", "[cli]") {
    Room room;
    CHECK(room.found() == "home own");
    room.environment["KUBECONFIG"] = "/a";
    CHECK(room.found() == "a default");
    room.environment["KUBECONFIG"] = "/b:/a";
    CHECK(room.found() == "b nb");
    room.settings.kubeconfig = "/a";
    CHECK(room.found() == "a default");
}

TEST_CASE("missing or repeated files of KUBECONFIG are ignored", "[cli]") {
    Room room;
    room.environment["KUBECONFIG"] = ":/missing:/b:/b::/missing";
    CHECK(room.found() == "b nb");
    CHECK(room.find()->source == "kubeconfig /b, context \"x\"");
    room.environment["KUBECONFIG"] = "/a:/missing:/c";
    room.files["/c"] = "current-context: other";
    CHECK(room.found() == "a default");
}

TEST_CASE("a kubeconfig that exists but cannot be read is an error", "[cli]") {
    Room room;
    room.environment["KUBECONFIG"] = "/b:/a";
    room.unreadable = {"/a"};
    CHECK(room.found() == "/a cannot be read");
    room.settings.kubeconfig = "/missing";
    CHECK(room.found() == "/missing does not exist");
}

TEST_CASE("options override parts of the kubeconfig", "[cli]") {
    Room room;
    room.settings.ns = "mine";
    CHECK(room.found() == "home mine");
    room.settings.server = "https://there";
    CHECK(room.found() == "there mine");
    room.settings.as = "jane";
    room.settings.as_groups = {"g"};
    CHECK(room.find()->as.user == "jane");
    CHECK(room.find()->as.groups == std::vector<std::string>{"g"});
    room.settings.context = "no";
    CHECK(room.found() ==
          "/home/me/.kube/config: --context names \"no\", which is not in contexts; there are x");
}

TEST_CASE("the address of kubectl proxy needs no kubeconfig", "[cli]") {
    Room room;
    room.files.clear();
    room.settings.server = "http://127.0.0.1:8001";
    CHECK(room.found() == "127.0.0.1 default");
}

TEST_CASE("in a Pod without a kubeconfig the service account is used", "[cli]") {
    Room room;
    room.be_a_pod();
    CHECK(room.found() == "home own");
    room.files.erase("/home/me/.kube/config");
    CHECK(room.found() == "pod-host pod-ns");
    CHECK(room.find()->token.file == account + "token");
    room.environment["POD_NAMESPACE"] = "variable";
    CHECK(room.found() == "pod-host variable");
    room.settings.ns = "mine";
    room.settings.as = "jane";
    CHECK(room.found() == "pod-host mine");
    CHECK(room.find()->as.user == "jane");
    room.settings.as.clear();
    room.settings.as_groups = {"g"};
    CHECK(room.found() == "--as-group and --as-uid need --as: name the user as well");
}

TEST_CASE("in a Pod a context without a namespace uses the Pod's", "[cli]") {
    Room room;
    room.be_a_pod();
    room.environment["KUBECONFIG"] = "/a";
    CHECK(room.found() == "a pod-ns");
    room.environment["KUBECONFIG"] = "/b";
    CHECK(room.found() == "b nb");
}

TEST_CASE("without any cluster the error lists where it was searched for", "[cli]") {
    Room room;
    room.files["/none"] = "{}";
    room.environment["KUBECONFIG"] = "/missing:/missing2";
    CHECK(room.found() ==
          "no cluster is configured: /missing:/missing2 does not exist; name a kubeconfig by $KUBECONFIG or "
          "--kubeconfig FILE");
    room.environment["KUBECONFIG"] = "/none";
    CHECK(room.found() ==
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
