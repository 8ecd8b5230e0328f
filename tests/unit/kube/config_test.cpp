#include "kube/client/config.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "api/base64.hpp"
#include "support/printers.hpp"

namespace {

const std::string pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

// Returns a kubeconfig with these fields in its cluster and user.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
    return R"(apiVersion: v1
kind: Config
current-context: here
contexts:
- name: elsewhere
  context: {cluster: other, user: other}
- name: here
  context: {cluster: c, user: u, namespace: team-a}
clusters:
- name: other
  cluster: {server: "https://wrong"}
- name: c
  cluster: {)" +
           cluster + R"(}
users:
- name: u
  user: {)" +
           user + "}\n";
}

const std::string server = "server: \"https://10.0.0.1:6443\"";

api::Result<kube::ClusterConfig> parse(const std::string& cluster, const std::string& user) {
    return kube::parse_kubeconfig(kubeconfig(cluster, user), "/home/me/.kube/config");
}

std::string message_of(const api::Result<kube::ClusterConfig>& config) {
    REQUIRE(config.has_error());
    CHECK(config.error().code == api::Errc::invalid);
    return describe(config.error());
}

}  // namespace

TEST_CASE("a kubeconfig gives the current context's cluster and user", "[kube]") {
    const std::string data = api::to_base64(pem);
    SECTION("everything inline") {
        const auto config =
            parse(server + ", tls-server-name: kube, certificate-authority-data: " + data,
                  "client-certificate-data: " + data + ", client-key-data: " + data + ", token: t0k3n");
        REQUIRE(config);
        CHECK(config->host == "10.0.0.1");
        CHECK(config->port == "6443");
        CHECK(config->tls);
        CHECK(config->verify);
        CHECK(config->server_name == "kube");
        CHECK(config->ca.text == pem);
        CHECK(config->client_cert.text == pem);
        CHECK(config->client_key.text == pem);
        CHECK(config->token.text == "t0k3n");
        CHECK(config->ns == "team-a");
        CHECK(config->source == "kubeconfig /home/me/.kube/config, context \"here\"");
    }
    SECTION("files, relative to the kubeconfig or absolute") {
        const auto config =
            parse(server + ", certificate-authority: ca.pem",
                  "client-certificate: ../me.pem, client-key: /keys/me.key, tokenFile: t, token: old");
        REQUIRE(config);
        CHECK(config->ca.file == "/home/me/.kube/ca.pem");
        CHECK(config->client_cert.file == "/home/me/me.pem");
        CHECK(config->client_key.file == "/keys/me.key");
        CHECK(config->token.file == "/home/me/.kube/t");
        CHECK(config->token.text.empty());
    }
    SECTION("inline data takes precedence over files") {
        const auto config =
            parse(server + ", certificate-authority: ca.pem, certificate-authority-data: " + data, "");
        REQUIRE(config);
        CHECK(config->ca.text == pem);
        CHECK(config->ca.file.empty());
    }
    SECTION("insecure, in plain HTTP, under a path") {
        const auto config = parse("server: http://localhost:8001/k8s/, insecure-skip-tls-verify: true", "");
        REQUIRE(config);
        CHECK(!config->tls);
        CHECK(!config->verify);
        CHECK(config->base_path == "/k8s");
        CHECK(config->token.empty());
    }
    SECTION("anonymous") {
        const auto config = kube::parse_kubeconfig(R"({"kind":"Config","current-context":"x",
            "contexts":[{"name":"x","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"https://h"}}]})",
                                                   "config");
        REQUIRE(config);
        CHECK(config->port == "443");
    }
}

TEST_CASE("an error about a broken kubeconfig names file and field", "[kube]") {
    struct Case {
        const char* name;
        std::string cluster;
        std::string user;
        const char* want;
    };
    const Case cases[] = {
        {"no server", "", "", "clusters[c].cluster.server is not set"},
        {"a server without scheme", "server: \"10.0.0.1:6443\"", "", "without https:// in front"},
        {"a proxy of another kind", server + ", proxy-url: \"https://p\"", "",
         "clusters[c].cluster.proxy-url must begin with http:// or socks5://"},
        {"broken base64", server + ", certificate-authority-data: \"!!\"", "",
         "clusters[c].cluster.certificate-authority-data is not a PEM text in base64"},
        {"no PEM", server + ", certificate-authority-data: aGVsbG8=", "", "is not a PEM text in base64"},
        {"a CA that is not to be verified",
         server + ", insecure-skip-tls-verify: true, certificate-authority: x", "",
         "contradicts certificate-authority"},
        {"insecure: maybe", server + ", insecure-skip-tls-verify: maybe", "", "must be true or false"},
        {"an exec plugin", server,
         "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}",
         "exec runs the credential plugin aws, which servers do not"},
        {"an auth provider", server, "auth-provider: {name: gcp}", "users[u].user.auth-provider"},
        {"a password", server, "username: me, password: s3cret", "users[u].user.username is not supported"},
        {"a group of no user", server, "as-groups: [masters]", "users[u].user.as is not set"},
        {"a certificate without key", server, "client-certificate: me.pem",
         "users[u].user.client-key is missing"},
        {"a key without certificate", server, "client-key: me.key",
         "users[u].user.client-certificate is missing"},
        {"a token that YAML reads as a number", server, "token: 12345",
         "users[u].user.token must be a string"},
        {"a file name of odd type", server, "tokenFile: [s3cret]",
         "users[u].user.tokenFile must be a file name"},
        {"broken key data", server, "client-certificate: x, client-key-data: s3cret",
         "users[u].user.client-key-data"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const std::string message = message_of(parse(c.cluster, c.user));
            CHECK_THAT(message, Catch::StartsWith("/home/me/.kube/config: ") && Catch::Contains(c.want));
            CHECK_THAT(message, !Catch::Contains("s3cret") && !Catch::Contains("12345"));
        }
    }
}

TEST_CASE("a file that is not a kubeconfig is refused", "[kube]") {
    struct Case {
        const char* text;
        const char* want;
    };
    const Case cases[] = {
        {"", "f: current-context is not set"},
        {"- a", "f is not a kubeconfig"},
        {"kind: Pod", "f is not a kubeconfig"},
        {"a: [", "f is not valid YAML"},
        {"kind: Config", "f: current-context is not set"},
        {"{kind: Config, current-context: x}", "f: current-context names \"x\", which is not in contexts"},
        {"{kind: Config, current-context: x, contexts: [{name: x}]}",
         "f: contexts[x].context.cluster is not set"},
        {"{kind: Config, current-context: x, contexts: [{name: x, context: {cluster: yonder}}]}",
         "f: contexts[x].context.cluster names \"yonder\", which is not in clusters"},
        {"{kind: Config, current-context: x, contexts: [{name: x, context: {cluster: yonder, user: z}}], "
         "clusters: [{name: yonder, "
         "cluster: {server: 'https://h'}}]}",
         "f: contexts[x].context.user names \"z\", which is not in users"},
        {"{kind: Config, current-context: x, contexts: 7, clusters: {a: b}}", "which is not in contexts"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.text) {
            CHECK_THAT(message_of(kube::parse_kubeconfig(c.text, "f")), Catch::Contains(c.want));
        }
    }
    const auto missing = kube::load_kubeconfig("/nonexistent/kubeconfig");
    REQUIRE(missing.has_error());
    CHECK_THAT(missing.error().message, Catch::Contains("/nonexistent/kubeconfig"));
}

TEST_CASE("in a pod, the service account is used", "[kube]") {
    std::map<std::string, std::string> env = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                              {"KUBERNETES_SERVICE_PORT", "443"}};
    const std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
    std::map<std::string, std::string> files = {
        {folder + "token", "t"}, {folder + "ca.crt", pem}, {folder + "namespace", "ns\n"}};
    const auto config = [&] {
        return kube::in_cluster_config([&](const char* name) { return env[name]; },
                                       [&](const std::string& path) -> api::Result<std::string> {
                                           if (files.contains(path)) return files[path];
                                           return api::Error{.code = api::Errc::not_found,
                                                             .message = path + " does not exist"};
                                       });
    };
    SECTION("whole") {
        const auto got = config();
        REQUIRE(got);
        CHECK(got->host == "fd00::1");
        CHECK(got->port == "443");
        CHECK(got->ns == "ns");
        CHECK(got->token.file == folder + "token");
        CHECK(got->ca.file == folder + "ca.crt");
    }
    SECTION("outside of a cluster") {
        env.clear();
        CHECK_THAT(message_of(config()),
                   Catch::Contains("not running in a pod") && Catch::Contains("--kubeconfig FILE"));
    }
    SECTION("without a mounted service account") {
        files.erase(folder + "token");
        CHECK_THAT(message_of(config()),
                   Catch::Contains(folder + "token") && Catch::Contains("automountServiceAccountToken"));
    }
    SECTION("without a namespace file") {
        files.erase(folder + "namespace");
        CHECK(config()->ns.empty());
    }
}
