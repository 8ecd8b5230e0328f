#include "reviews.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <stdexcept>

namespace test {
namespace {

using api::Json;

Json parsed(const char* text) { return api::parse_json(text).value(); }

Json runtime_of_kind(const char* kind, const std::string& name) {
    Json runtime = parsed(R"({
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "metadata": {"uid": "runtime-uid"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{
            "name": "node", "replicas": 1,
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": {"spec": {"containers": [
                    {"name": "node", "image": "registry.example.com/base:1"}]}}}}}]}}}})");
    runtime["kind"] = kind;
    runtime["metadata"]["name"] = name;
    return runtime;
}

}  // namespace

Json train_job() {
    return parsed(R"({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "ns", "uid": "job-uid"},
        "spec": {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "plain"},
            "trainer": {"image": "registry.example.com/train:1"},
            "suspend": false, "managedBy": "trainer.kubeflow.org/trainjob-controller"}})");
}

Json cluster_runtime(const std::string& name) { return runtime_of_kind("ClusterTrainingRuntime", name); }

Json namespaced_runtime(const std::string& name) {
    Json runtime = runtime_of_kind("TrainingRuntime", name);
    runtime["metadata"]["namespace"] = "ns";
    return runtime;
}

Json review(const std::string& operation, const Json& object, const Json& old_object) {
    const Json& subject = object.is_null() ? old_object : object;
    const std::string_view api_version = subject["apiVersion"].as_string();
    const auto slash = std::min(api_version.find('/'), api_version.size() - 1);
    Json request = Json::object({{"uid", "review-1"},
                                 {"kind", Json::object({{"group", api_version.substr(0, slash)},
                                                        {"version", api_version.substr(slash + 1)},
                                                        {"kind", subject["kind"].as_string()}})},
                                 {"name", subject["metadata"]["name"].as_string()},
                                 {"namespace", subject["metadata"]["namespace"].as_string()},
                                 {"operation", operation},
                                 {"object", object},
                                 {"oldObject", old_object}});
    return Json::object({{"apiVersion", "admission.k8s.io/v1"},
                         {"kind", "AdmissionReview"},
                         {"request", std::move(request)}});
}

net::HttpRequest post(const std::string& path, const Json& review) {
    return {.method = "POST",
            .target = path + "?timeout=10s",
            .headers = {{"Content-Type", "application/json"}},
            .body = api::to_json(review)};
}

std::vector<std::string> Reply::causes() const {
    std::vector<std::string> texts;
    for (const Json& cause : response["status"]["details"]["causes"].items()) {
        const std::string_view message = cause["message"].as_string();
        texts.push_back(std::string(cause["field"].as_string()) + ": " +
                        std::string(message.substr(0, message.find(':'))));
    }
    return texts;
}

net::Task<net::HttpResponse> timed(net::Task<net::HttpResponse> answer, boost::asio::io_context& context,
                                   bool& at_once) {
    const auto waited = std::make_shared<bool>(false);
    boost::asio::post(context, [waited] { *waited = true; });
    net::HttpResponse response = co_await std::move(answer);
    at_once = !*waited;
    co_return response;
}

Fixture::Fixture(const runtime::Features& features, const kube::Namespaces& namespaces,
                 admission::ReviewPolicy policy)
    : pipeline(runtime::make_pipeline(features)),
      log(net::LogLevel::info, net::LogFormat::text, [this](std::string_view line) { log_text += line; }),
      inputs(runtimes, server, pipeline, namespaces, &turns),
      handler(inputs, clock, review_metrics, log, pipeline, namespaces, std::move(policy), &lookup_permits,
              &turns) {
    server.answer = [this](const kube::Request& request) -> api::Result<kube::Response> {
        for (const auto& [path, object] : stored) {
            if (path != request.target) continue;
            kube::Response response{200, api::to_json(object)};
            if (response.body.size() > request.max_answer) return api::Error{.code = api::Errc::too_large};
            return response;
        }
        return refusal(404, api::Errc::not_found, "not found");
    };
}

void Fixture::store(const kube::Resource& resource, const Json& object) {
    const Json& metadata = object["metadata"];
    const api::ObjectKey key = {std::string(metadata["namespace"].as_string()),
                                std::string(metadata["name"].as_string())};
    stored.emplace_back(kube::path(resource, key), object);
}

Reply Fixture::ask(net::HttpRequest request) {
    bool ignored = false;
    return ask(std::move(request), ignored);
}

Reply Fixture::ask(net::HttpRequest request, bool& at_once) {
    return ask_of(handler, std::move(request), &at_once);
}

Reply Fixture::ask_of(admission::ReviewHandler& other, net::HttpRequest request, bool* at_once) {
    Reply reply;
    bool is_there = false;
    bool done = false;
    std::exception_ptr thrown;
    boost::asio::co_spawn(context, timed(other(request), context, is_there),
                          [&](std::exception_ptr error, net::HttpResponse response) {
                              thrown = error;
                              reply.http = std::move(response);
                              done = true;
                          });
    clock.run();
    if (at_once) *at_once = is_there;
    if (!is_there) clock.run_for(patience);
    if (thrown) std::rethrow_exception(thrown);
    if (!done) throw std::runtime_error("no answer came");
    if (reply.http.status == 200) {
        const Json body = api::parse_json(reply.http.body).value();
        reply.response = body["response"];
    }
    return reply;
}

}  // namespace test
