// The input of a credential plugin, and its output.
#include "kube/client/exec_credential.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;

namespace {

const std::string cert = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const std::string key = "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n";

kube::ExecPlugin plugin(const std::string& version = "v1beta1") {
    return {.api_version = "client.authentication.k8s.io/" + version, .command = "x"};
}

// Returns an output with this status.
std::string answer(const std::string& status) {
    return R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":)" +
           status + "}";
}

}  // namespace

TEST_CASE("a plugin gets the version, and whether it has a terminal", "[kube]") {
    CHECK(
        kube::encode_exec_info(plugin("v1"), cert, true) ==
        R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":true}})");
    CHECK(
        kube::encode_exec_info(plugin(), "", false) ==
        R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"interactive":false}})");
}

TEST_CASE("a plugin that requires it gets the cluster with its CA", "[kube]") {
    auto wants = plugin("v1");
    wants.cluster = Json::object({{"server", "https://h:1"}, {"config", Json()}});
    CHECK(
        kube::encode_exec_info(wants, "PEM", false) ==
        R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":)"
        R"({"certificate-authority-data":"UEVN","config":null,"server":"https://h:1"},"interactive":false}})");
    CHECK_THAT(kube::encode_exec_info(wants, "", false), !Catch::Contains("certificate-authority-data"));
}

TEST_CASE("the outputs of cloud providers' programs are read", "[kube]") {
    struct Case {
        const char* name;
        const char* output;
        const char* token;
        const char* expires;
    };
    const Case cases[] = {
        {"aws eks get-token",
         R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1", "spec": {}, )"
         R"("status": {"expirationTimestamp": "2026-01-15T10:14:00Z", "token": "k8s-aws-v1.aHR0cHM6Ly9zdHM"}})"
         "\n",
         "k8s-aws-v1.aHR0cHM6Ly9zdHM", "2026-01-15T10:14:00Z"},
        {"gke-gcloud-auth-plugin", R"({
    "kind": "ExecCredential",
    "apiVersion": "client.authentication.k8s.io/v1beta1",
    "spec": {
        "interactive": false
    },
    "status": {
        "expirationTimestamp": "2026-01-15T11:00:00Z",
        "token": "ya29.c.EXAMPLE_-"
    }
}
)",
         "ya29.c.EXAMPLE_-", "2026-01-15T11:00:00Z"},
        {"kubelogin",
         R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
         R"("spec":{"interactive":false},)"
         R"("status":{"expirationTimestamp":"2026-01-15T11:30:12Z","token":"eyJ0.eyJh.c2ln"}})",
         "eyJ0.eyJh.c2ln", "2026-01-15T11:30:12Z"},
        {"a time with a fraction and an offset",
         R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
         R"("status":{"expirationTimestamp":"2026-01-15T12:30:12.5+01:00","token":"t"}})",
         "t", "2026-01-15T11:30:12Z"},
        {"YAML",
         "apiVersion: client.authentication.k8s.io/v1beta1\nkind: ExecCredential\nstatus:\n  token: t\n  "
         "expirationTimestamp: '2026-01-15T11:30:12Z'\n",
         "t", "2026-01-15T11:30:12Z"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto credential = kube::decode_exec_credential(c.output, plugin());
            INFO((credential ? "" : credential.error().message));
            REQUIRE(credential);
            CHECK(credential->token == c.token);
            CHECK(credential->cert_pem.empty());
            REQUIRE(credential->expires);
            CHECK(api::format_time(*credential->expires) == c.expires);
        }
    }
}

TEST_CASE("a certificate may replace a token, and may have no expiry", "[kube]") {
    const std::string status = to_json(Json::object(
        {{"clientCertificateData", cert}, {"clientKeyData", key}, {"expirationTimestamp", Json()}}));
    const auto credential = kube::decode_exec_credential(answer(status), plugin());
    REQUIRE(credential);
    CHECK(credential->token.empty());
    CHECK(credential->cert_pem == cert);
    CHECK(credential->key_pem == key);
    CHECK(!credential->expires);
}

TEST_CASE("an output that is no credential is refused without showing it", "[kube]") {
    struct Case {
        std::string output;
        const char* want;
    };
    const Case cases[] = {
        {"", "printed no ExecCredential in JSON"},
        {"s3cret", "printed no ExecCredential in JSON"},
        {R"({"token":"s3cret","token")", "printed no ExecCredential in JSON"},
        {"s3cret: 1\ns3cret: 2", "printed no ExecCredential in JSON"},
        {R"({"kind":"Secret","apiVersion":"v1","status":{"token":"s3cret"}})", "is no ExecCredential"},
        {R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"s3cret"}})",
         "of another version than client.authentication.k8s.io/v1beta1"},
        {R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential"})",
         "without status"},
        {answer("{}"), "with neither a token nor a certificate"},
        {answer(R"({"token":""})"), "with neither a token nor a certificate"},
        {answer(R"({"token":"s3cret\r\nX-Evil: 1"})"), "whose token contains blanks or line breaks"},
        {answer(R"({"token":{"s3cret":1}})"), "status.token is no string"},
        {answer(R"({"token":"s3cret","clientKeyData":"s3cret"})"), "but not both"},
        {answer(R"({"clientCertificateData":"s3cret","clientKeyData":"s3cret"})"), "is not in PEM"},
        {answer(R"({"token":"s3cret","expirationTimestamp":"s3cret"})"), "expirationTimestamp is no time"},
        {answer(R"({"token":"s3cret","expirationTimestamp":5})"), "expirationTimestamp is no string"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.want << " " << c.output) {
            const auto credential = kube::decode_exec_credential(c.output, plugin());
            REQUIRE(credential.has_error());
            CHECK_THAT(credential.error().message, Catch::Contains(c.want) && !Catch::Contains("s3cret"));
        }
    }
}
