// The files of $KUBECONFIG are merged as kubectl does.
#include "kube/client/kubeconfig.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

namespace {

using kube::KubeconfigChoice;
using kube::KubeconfigFile;

const KubeconfigFile first = {.name = "/one/config", .text = R"(apiVersion: v1
kind: Config
current-context: ""
contexts:
- name: shared
  context: {cluster: c, user: u, namespace: team-a}
clusters:
- name: c
  cluster: {server: "https://one:1", certificate-authority: ca.pem, tls-server-name: kube}
users:
- name: u
  user: {token: one, tokenFile: token}
)"};
const KubeconfigFile second = {.name = "/two/config", .text = R"(apiVersion: v1
kind: Config
current-context: shared
contexts:
- name: shared
  context: {cluster: other, user: other}
- name: second
  context: {cluster: c, user: w}
- name: plain
  context: {cluster: proxy, user: w}
clusters:
- name: c
  cluster: {server: "https://two:2"}
- name: other
  cluster: {server: "https://other:3"}
- name: proxy
  cluster: {server: "http://127.0.0.1:8001"}
users:
- name: other
  user: {token: other}
- name: w
  user: {tokenFile: token}
)"};
const KubeconfigFile third = {.name = "/three/config", .text = "current-context: second\n"};

api::Result<std::optional<kube::ClusterConfig>> merge(const std::vector<KubeconfigFile>& files,
                                                      const KubeconfigChoice& choice = {}) {
    return kube::merge_kubeconfigs(files, choice);
}

kube::ClusterConfig merged(const std::vector<KubeconfigFile>& files, const KubeconfigChoice& choice = {}) {
    const auto config = merge(files, choice);
    INFO((config ? "" : describe(config.error())));
    REQUIRE(config);
    REQUIRE(config->has_value());
    return **config;
}

// Returns a kubeconfig whose only user has these fields.
std::vector<KubeconfigFile> with_user(const std::string& user, const std::string& cluster = "") {
    return {{.name = "/home/me/.kube/config",
             .text = R"(kind: Config
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://h:1")" +
                     cluster + "}}]\nusers:\n- name: u\n  user: " + user + "\n"}};
}

std::string error_of(const std::vector<KubeconfigFile>& files, const KubeconfigChoice& choice = {}) {
    const auto config = merge(files, choice);
    REQUIRE(config.has_error());
    CHECK(config.error().code == api::Errc::invalid);
    return describe(config.error());
}

}  // namespace

TEST_CASE("of entries with the same name, the first file's counts", "[kube]") {
    const auto config = merged({first, second, third});
    CHECK(config.host == "one");
    CHECK(config.ns == "team-a");
    CHECK(config.source == "kubeconfig /one/config:/two/config:/three/config, context \"shared\"");
    const auto turned = merged({third, second, first});
    CHECK(turned.host == "two");
    CHECK(turned.ns.empty());
}

TEST_CASE("the first file with a current context sets it", "[kube]") {
    CHECK(merged({third, first, second}).token.file == "/two/token");
    CHECK(merged({second, third}).host == "other");
}

TEST_CASE("a relative path is relative to the directory of its file", "[kube]") {
    const auto config = merged({first, second, third}, {.context = "second"});
    CHECK(config.ca.file == "/one/ca.pem");
    CHECK(config.token.file == "/two/token");
    CHECK(merged({{.name = "config", .text = first.text}}, {.context = "shared"}).ca.file == "ca.pem");
}

TEST_CASE("options override the kubeconfig", "[kube]") {
    const std::vector<KubeconfigFile> files = {first, second};
    CHECK(merged(files, {.context = "second"}).token.file == "/two/token");
    CHECK(merged(files, {.cluster = "other"}).host == "other");
    CHECK(merged(files, {.cluster = "other"}).ns == "team-a");
    CHECK(merged(files, {.user = "w"}).token.file == "/two/token");
    CHECK(merged(files, {.ns = "mine"}).ns == "mine");
    CHECK(merged({first}, {.cluster = "c"}).source == "kubeconfig /one/config, cluster \"c\"");

    const auto moved = merged(files, {.server = "https://there:7/path"});
    CHECK(moved.host == "there");
    CHECK(moved.base_path == "/path");
    // The other server's name.
    CHECK(moved.server_name.empty());
    CHECK(moved.ca.file == "/one/ca.pem");
    CHECK(merged({}, {.server = "http://127.0.0.1:8001"}).source == "--server");
}

TEST_CASE("files without a current context are an error", "[kube]") {
    CHECK(merge({})->has_value() == false);
    CHECK(merge({first})->has_value() == false);
    CHECK(merge({{.name = "empty", .text = ""}, first})->has_value() == false);
    CHECK(merge({first}, {.user = "u"})->has_value() == false);
}

TEST_CASE("the error about a missing name has that name", "[kube]") {
    struct Case {
        KubeconfigChoice choice;
        const char* want;
    };
    const Case cases[] = {
        {{.context = "no"},
         "/one/config:/two/config: --context names \"no\", which is not in contexts; there are plain, "
         "second, "
         "shared"},
        {{.cluster = "no"}, "--cluster names \"no\", which is not in clusters; there are c, other, proxy"},
        {{.user = "no"}, "--user names \"no\", which is not in users; there are other, u, w"},
        {{.server = "there"}, "--server is \"there\", without https:// in front"},
        {{.as_groups = {"g"}}, "--as-group and --as-uid need --as"},
        {{.as_uid = "1"}, "--as-group and --as-uid need --as"},
    };
    for (const Case& c : cases) CHECK_THAT(error_of({first, second}, c.choice), Catch::Contains(c.want));
    CHECK(error_of({first, {.name = "/x", .text = "current-context: gone"}}) ==
          "/one/config:/x: current-context names \"gone\", which is not in contexts");
}

TEST_CASE("an unreadable file is an error even if another one would suffice", "[kube]") {
    CHECK_THAT(error_of({second, {.name = "/bad", .text = "a: ["}}),
               Catch::StartsWith("/bad is not valid YAML"));
    CHECK_THAT(error_of({second, {.name = "/bad", .text = "kind: Pod"}}),
               Catch::StartsWith("/bad is not a kubeconfig"));
    CHECK(error_of({{.name = "/bad", .text = "users: [{name: a}, {name: b}, {name: a}]"}}) ==
          "/bad: users has \"a\" twice");
}

TEST_CASE("credentials are not used over plain HTTP", "[kube]") {
    const auto plain = merged({second}, {.context = "plain", .as = "root"});
    CHECK(!plain.tls);
    CHECK(plain.token.empty());
    CHECK(plain.as.user == "root");
    const auto plugin = with_user("{exec: {command: aws}}");
    CHECK(!merged(plugin, {.server = "http://127.0.0.1:8001"}).exec);
}

TEST_CASE("the user's impersonation is used, and options override it", "[kube]") {
    const auto files =
        with_user("{as: a, as-uid: '7', as-groups: [g, h], as-user-extra: {scopes: [read, write]}}");
    const auto as = merged(files).as;
    CHECK(as.user == "a");
    CHECK(as.uid == "7");
    CHECK(as.groups == std::vector<std::string>{"g", "h"});
    REQUIRE(as.extra.size() == 1);
    CHECK(as.extra[0].first == "scopes");
    CHECK(as.extra[0].second == std::vector<std::string>{"read", "write"});
    const auto other = merged(files, {.as = "b", .as_uid = "8", .as_groups = {"i"}}).as;
    CHECK(other.user == "b");
    CHECK(other.uid == "8");
    CHECK(other.groups == std::vector<std::string>{"i"});
    CHECK_THAT(error_of(with_user("{as-groups: [g]}")), Catch::Contains("users[u].user.as is not set"));
}

TEST_CASE("the proxy of the cluster is used", "[kube]") {
    const auto config = merged(with_user("{}", ", proxy-url: 'http://me:p%40ss@proxy:3128/'"));
    using net::HttpProxy;
    using net::SocksProxy;
    const auto proxy_of = [](const std::string& url) {
        return merged(with_user("{}", ", proxy-url: '" + url + "'")).proxy;
    };
    CHECK((config.proxy == net::Proxy(HttpProxy{"proxy", "3128", "Basic bWU6cEBzcw=="})));
    CHECK((proxy_of("http://[::1]") == net::Proxy(HttpProxy{"::1", "80", ""})));
    CHECK((proxy_of("socks5://bastion") == net::Proxy(SocksProxy{"bastion", "1080", "", ""})));
    CHECK((proxy_of("socks5h://me:p%40s:s@[::1]:80/") == net::Proxy(SocksProxy{"::1", "80", "me", "p@s:s"})));
    const std::string long_name = "socks5://s3cret" + std::string(250, 'x') + "@h:1";
    const std::string wrong[] = {"socks4://s3cret@h:1", "https://h:1",   "h:1",          "http://",
                                 "http://h:1/path",     "socks5://",     "http://a b:1", long_name,
                                 "http://s3cret%4@h:1", "http://h:99999"};
    for (const std::string& url : wrong) {
        const std::string error = error_of(with_user("{}", ", proxy-url: '" + url + "'"));
        CHECK_THAT(error, Catch::StartsWith("/home/me/.kube/config: clusters[c].cluster.proxy-url "));
        CHECK_THAT(error, !Catch::Contains("s3cret"));
    }
}

// As `aws eks update-kubeconfig`, `gcloud container clusters get-credentials` and `kubelogin
// convert-kubeconfig` write them.
TEST_CASE("plugins of cloud providers are read", "[kube]") {
    SECTION("Amazon") {
        const auto exec = merged(with_user(R"(
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args: [--region, us-west-2, eks, get-token, --cluster-name, demo, --output, json]
      command: aws
      env:
      - name: AWS_PROFILE
        value: research)"))
                              .exec;
        REQUIRE(exec);
        CHECK(exec->api_version == "client.authentication.k8s.io/v1beta1");
        CHECK(exec->command == "aws");
        CHECK(exec->args.size() == 8);
        CHECK(exec->args[3] == "get-token");
        CHECK(exec->env == std::vector<std::pair<std::string, std::string>>{{"AWS_PROFILE", "research"}});
        CHECK(exec->input == kube::ExecPlugin::Input::if_available);
        CHECK(exec->cluster.is_null());
    }
    SECTION("Google") {
        const auto exec =
            merged(with_user(R"(
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin
      provideClusterInfo: true)",
                             ", tls-server-name: kube, proxy-url: 'http://p:1', extensions: [{name: "
                             "client.authentication.k8s.io/exec, extension: {audience: a}}, {name: z}]"))
                .exec;
        REQUIRE(exec);
        CHECK(exec->args.empty());
        CHECK_THAT(exec->install_hint,
                   Catch::StartsWith("Install gke-gcloud-auth-plugin for use with kubectl "
                                     "by following https://cloud.google.com/"));
        CHECK(
            to_json(exec->cluster) ==
            R"({"config":{"audience":"a"},"proxy-url":"http://p:1","server":"https://h:1","tls-server-name":"kube"})");
    }
    SECTION("Azure") {
        const auto exec = merged(with_user(R"(
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args: [get-token, --environment, AzurePublicCloud, --server-id, "0", --login, devicecode]
      command: kubelogin
      env: null
      installHint: |2

        kubelogin is not installed which is required to connect to AAD enabled cluster.

        To learn more, please go to https://aka.ms/aks/kubelogin
      provideClusterInfo: false)"))
                              .exec;
        REQUIRE(exec);
        CHECK(exec->env.empty());
        CHECK(
            exec->install_hint ==
            "kubelogin is not installed which is required to connect to AAD enabled cluster. To learn more, "
            "please go to https://aka.ms/aks/kubelogin");
    }
}

TEST_CASE("a plugin's command is relative to its file or in the PATH", "[kube]") {
    const auto command = [](const std::string& file, const std::string& text) {
        auto files = with_user(
            "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
            "command: " +
            text + "}}");
        files[0].name = file;
        return merged(files).exec->command;
    };
    CHECK(command("/home/me/config", "aws") == "aws");
    CHECK(command("/home/me/config", "./bin/aws") == "/home/me/bin/aws");
    CHECK(command("/home/me/config", "/usr/bin/aws") == "/usr/bin/aws");
    CHECK(command("config", "./aws") == "./aws");
}

TEST_CASE("other credentials take precedence over a plugin", "[kube]") {
    const std::string exec = "exec: {command: aws}";
    CHECK(!merged(with_user("{token: t, " + exec + "}")).exec);
    CHECK(!merged(with_user("{tokenFile: t, " + exec + "}")).exec);
    CHECK(!merged(with_user("{client-certificate: c, client-key: k, " + exec + "}")).exec);
}

TEST_CASE("a plugin that cannot run with its settings is an error", "[kube]") {
    const std::string v1 = "apiVersion: client.authentication.k8s.io/v1, command: x";
    const std::string beta = "apiVersion: client.authentication.k8s.io/v1beta1, command: x";
    const std::pair<std::string, const char*> cases[] = {
        {"command: x",
         "exec.apiVersion is not set; the versions are client.authentication.k8s.io/v1 and v1beta1"},
        {"apiVersion: client.authentication.k8s.io/v1alpha1",
         "exec.apiVersion is v1alpha1, which Kubernetes removed"},
        {"apiVersion: v1", "exec.apiVersion is \"v1\""},
        {"apiVersion: client.authentication.k8s.io/v1", "exec.command is not set"},
        {v1, "exec.interactiveMode must be Never, IfAvailable or Always"},
        {beta + ", interactiveMode: never", "exec.interactiveMode must be Never, IfAvailable or Always"},
        {beta + ", args: [a, 5]", "exec.args[1] must be a string; put it in quotes"},
        {beta + ", env: [{name: a, value: b}, {value: c}]",
         "exec.env[1].name must be the name of a variable"},
        {beta + ", env: [{name: A=B}]", "exec.env[0].name must be the name of a variable"},
        {beta + ", env: [{name: A, value: 5}]", "exec.env[0].value must be a string"},
        {beta + ", provideClusterInfo: 'yes'", "exec.provideClusterInfo must be true or false"},
    };
    for (const auto& [exec, want] : cases)
        CHECK_THAT(error_of(with_user("{exec: {" + exec + "}}")),
                   Catch::StartsWith("/home/me/.kube/config: users[u].user." + std::string(want)));
}

TEST_CASE("an install hint is shown without control characters", "[kube]") {
    const auto exec =
        merged(with_user("{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, "
                         "installHint: \"a\\e[31mb\\r\\n c\\x7f\\u0085d\\u00e9\"}}"))
            .exec;
    REQUIRE(exec);
    CHECK(exec->install_hint == "a [31mb c d\u00e9");
}
