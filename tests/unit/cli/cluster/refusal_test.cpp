// Messages for clusters that do not answer as expected, and paged lists.
#include "cluster/refusal.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <deque>

#include "cluster/lists.hpp"
#include "support/answering_server.hpp"

namespace {

using api::Json;

api::Result<std::vector<std::string>> names_in(AnsweringServer& server, cli::ListQuery query) {
    boost::asio::io_context context;
    api::Result<std::vector<std::string>> names = api::Error{.message = "it has not ended"};
    const auto name_of = [](Json object) {
        return std::string(std::as_const(object)["metadata"]["name"].as_string());
    };
    boost::asio::co_spawn(context, cli::read_list<std::string>(server, std::move(query), name_of),
                          [&](std::exception_ptr, auto result) { names = std::move(result); });
    context.run();
    return names;
}

std::string page(const std::string& name, const std::string& next = "") {
    return R"({"metadata": {"continue": ")" + next + R"("}, "items": [{"metadata": {"name": ")" + name +
           "\"}}]}";
}

const api::Error expired = {.code = api::Errc::gone, .message = "expired"};

}  // namespace

TEST_CASE("a list is read page by page, with its selectors", "[cluster]") {
    AnsweringServer server;
    server.answers = {page("a", "x/y"), page("b")};
    const auto names =
        names_in(server, {.resource = kube::resources::pods, .ns = "team", .labels = "a=b", .fields = "c=d"});
    REQUIRE(names.has_value());
    CHECK(*names == std::vector<std::string>{"a", "b"});
    const std::string first =
        "/api/v1/namespaces/team/pods?limit=500&labelSelector=a%3Db&fieldSelector=c%3Dd";
    CHECK(server.targets() == std::vector<std::string>{first, first + "&continue=x%2Fy"});
}

TEST_CASE("a list that expires between pages starts again, once", "[cluster]") {
    AnsweringServer server;
    server.answers = {page("a", "x"), expired, page("a", "y"), page("b")};
    const auto names = names_in(server, {.resource = kube::resources::pods});
    REQUIRE(names.has_value());
    CHECK(*names == std::vector<std::string>{"a", "b"});
    server.answers = {page("a", "x"), expired, page("a", "y"), expired};
    CHECK(names_in(server, {.resource = kube::resources::pods}).has_error());
}

TEST_CASE("an error of the cluster has its remedy in one line", "[cluster]") {
    struct Row {
        api::Error error;
        api::ObjectKey key;
        const char* message;
    };
    using enum api::Errc;
    const std::string user = "User \"jane\" cannot ";
    const std::string in_group = " in API group \"trainer.kubeflow.org\" ";
    const Row rows[] = {
        {{.code = unauthorized, .message = "Unauthorized"},
         {},
         "Unauthorized: the credentials of the kubeconfig are not accepted; have they expired?"},
        {{.code = forbidden,
          .message = user + "list resource \"trainjobs\"" + in_group + "in the namespace \"team\""},
         {},
         "User \"jane\" cannot list resource \"trainjobs\" in API group \"trainer.kubeflow.org\" in the "
         "namespace \"team\"; the role "
         "view is missing: an administrator binds it by `kubectl create rolebinding NAME --clusterrole=view "
         "--user=USER -n NAMESPACE`"},
        {{.code = forbidden,
          .message = user + "list resource \"trainjobs\"" + in_group + "at the cluster scope"},
         {},
         "User \"jane\" cannot list resource \"trainjobs\" in API group \"trainer.kubeflow.org\" at the "
         "cluster scope; the role view is "
         "missing in all namespaces: bind it by a ClusterRoleBinding, or name one namespace with -n"},
        {{.code = forbidden,
          .message = user + "patch resource \"trainjobs\"" + in_group + "in the namespace \"team\""},
         {},
         "User \"jane\" cannot patch resource \"trainjobs\" in API group \"trainer.kubeflow.org\" in the "
         "namespace \"team\"; the role "
         "edit is missing: an administrator binds it by `kubectl create rolebinding NAME --clusterrole=edit "
         "--user=USER -n NAMESPACE`"},
        {{.code = forbidden,
          .message = user + "get resource \"trainjobs\"" + in_group + "in the namespace \"tj\""},
         {"tj", "night"},
         "User \"jane\" cannot get resource \"trainjobs\" in API group \"trainer.kubeflow.org\" in the "
         "namespace "
         "\"tj\"; what is asked for is NAMESPACE/NAME, not KIND/NAME"},
        {{.code = forbidden, .message = "exceeded quota"}, {}, "exceeded quota"},
        {{.code = not_found, .message = "trainjobs \"night\" not found"},
         {"vision", "night"},
         "there is no TrainJob vision/night; `kubectl trainjob list -n vision` lists the existing ones"},
        {{.code = not_found, .message = "HTTP status 404: 404 page not found"},
         {},
         "this cluster has no TrainJobs (HTTP status 404: 404 page not found): are the CRDs installed?"},
        {{.code = unavailable, .message = "connection refused"},
         {},
         "connection refused; is the cluster of the kubeconfig up, and can it be reached from here?"},
        {{.code = unavailable, .message = "etcd is slow", .http_status = 503}, {}, "etcd is slow"},
        {{.code = unavailable,
          .message = "TLS handshake failed: certificate not trusted: self-signed certificate"},
         {},
         "TLS handshake failed: certificate not trusted: self-signed certificate; does the kubeconfig have "
         "the "
         "certificate-authority of this cluster?"},
        {{.code = unavailable, .message = "certificate not trusted: hostname mismatch"},
         {},
         "certificate not trusted: hostname mismatch; its certificate is for other names: does the "
         "kubeconfig "
         "have the right server or tls-server-name?"},
        {{.code = unavailable, .message = "certificate not trusted: certificate has expired"},
         {},
         "certificate not trusted: certificate has expired; the cluster's administrator has to renew it"},
    };
    for (const Row& row : rows) CHECK(cli::advised(row.error, row.key).message == row.message);
}

TEST_CASE("a cluster with another version of TrainJobs, or with none, is recognized", "[cluster]") {
    const api::Error no_page = {.code = api::Errc::not_found, .message = "404 page not found"};
    const auto group = [](const char* versions) { return std::string(R"({"versions": )") + versions + "}"; };
    struct Row {
        std::deque<api::Result<std::string>> answers;
        const char* message;
    };
    const Row rows[] = {
        {{group(R"([{"version": "v2"}, {"version": "v1beta1"}])")},
         "this cluster has TrainJobs of trainer.kubeflow.org/v2, v1beta1, and this program knows v1alpha1: "
         "install "
         "the kubectl trainjob of the release that is in the cluster"},
        {{group(R"([{"version": "v1alpha1"}])")},
         "this cluster has trainer.kubeflow.org/v1alpha1 without TrainJobs: are all CRDs installed?"},
        {{no_page, group(R"([{"version": "v1"}])")},
         "this cluster has no TrainJobs (404 page not found): are the CRDs installed? It has kubeflow.org/v1 "
         "of "
         "Kubeflow's Training Operator, whose jobs are of other kinds"},
        {{no_page, no_page}, "this cluster has no TrainJobs (404 page not found): are the CRDs installed?"},
    };
    for (const Row& row : rows) {
        AnsweringServer server;
        server.answers = row.answers;
        boost::asio::io_context context;
        api::Error advice;
        boost::asio::co_spawn(context, cli::advised_by(server, no_page, {}),
                              [&](std::exception_ptr, api::Error result) { advice = std::move(result); });
        context.run();
        CHECK(advice.message == row.message);
        CHECK(advice.code == api::Errc::not_found);
        CHECK(server.targets().front() == "/apis/trainer.kubeflow.org");
    }
    // The cluster is not asked about a missing TrainJob.
    AnsweringServer server;
    boost::asio::io_context context;
    const api::Error missing = {.code = api::Errc::not_found, .message = "trainjobs \"night\" not found"};
    boost::asio::co_spawn(context, cli::advised_by(server, missing, {"vision", "night"}),
                          boost::asio::detached);
    context.run();
    CHECK(server.requests.empty());
}
