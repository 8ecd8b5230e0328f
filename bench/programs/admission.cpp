// Measures the cost of one admission review, from the bytes of its body to the bytes of the response.
#include <time.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "admission/handler.hpp"
#include "admission/metrics.hpp"
#include "allocations.hpp"
#include "api/yaml.hpp"
#include "counted.hpp"
#include "kube/client/clock.hpp"

namespace {

using api::Json;

const std::string validate_path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob";
const std::string mutate_path = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob";

Json parsed(const std::string& yaml) { return api::parse_yaml(yaml).value(); }

Json runtime() {
    return parsed(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed, uid: 7c0e8f1a-5b0e-4a63-9f3e-3c7f6b1f9a10}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        replicas: 1
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "registry.example.com/base:1"}]}}}
)");
}

Json train_job() {
    return parsed(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: language-model
  namespace: research
  uid: 0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f01
  creationTimestamp: "2026-01-15T10:00:00Z"
  generation: 1
  labels: {team: language, kueue.x-k8s.io/queue-name: research}
  annotations: {acme.io/ticket: "4711", acme.io/experiment: learning rate of the second stage}
spec:
  managedBy: trainer.kubeflow.org/trainjob-controller
  suspend: false
  activeDeadlineSeconds: 86400
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: ClusterTrainingRuntime, name: torch-distributed}
  trainer:
    image: registry.example.com/research/language-model:2026.01
    command: [torchrun, train.py]
    args: ["--epochs=40", "--batch-size=64", "--learning-rate=0.0003", "--output=/workspace/out"]
    numNodes: 8
    numProcPerNode: 8
    resourcesPerNode:
      requests: {cpu: "32", memory: 256Gi, nvidia.com/gpu: "8"}
      limits: {cpu: "32", memory: 256Gi, nvidia.com/gpu: "8"}
    env:
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: hub, key: token}}
  runtimePatches:
  - manager: acme.io/placement
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    nodeSelector: {acme.io/pool: h100, topology.kubernetes.io/zone: b}
                    tolerations:
                    - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
                    - {key: acme.io/reserved, operator: Equal, value: research, effect: NoSchedule}
                    volumes:
                    - name: data
                      persistentVolumeClaim: {claimName: corpus, readOnly: true}
                    containers:
                    - name: node
                      volumeMounts: [{name: data, mountPath: /data}]
)");
}

// Returns what the API server stores in metadata.managedFields[].fieldsV1: the fields of a value.
Json field_set(const Json& value) {
    Json set = Json::object();
    for (const auto& [key, member] : value.members()) set["f:" + key] = field_set(member);
    for (const Json& item : value.items())
        for (const char* key : {"name", "manager"})
            if (item[key].is_string()) {
                Json& entry = set["k:" + to_json(Json::object({{key, item[key]}}))];
                entry = field_set(item);
                entry["."] = Json::object();
            }
    return set;
}

Json with_managed_fields(Json object) {
    Json fields = Json::object({{"f:spec", field_set(std::as_const(object)["spec"])}});
    object["metadata"]["managedFields"] =
        Json::array({Json::object({{"manager", "kubectl-create"},
                                   {"operation", "Update"},
                                   {"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                                   {"time", "2026-01-15T10:00:00Z"},
                                   {"fieldsType", "FieldsV1"},
                                   {"fieldsV1", std::move(fields)}})});
    return object;
}

// Returns a TrainJob of at least that size, filled with environment variables.
Json train_job_of(std::size_t bytes) {
    Json job = train_job();
    for (int i = 0; to_json(with_managed_fields(job)).size() < bytes; ++i)
        job["spec"]["trainer"]["env"].push_back(
            Json::object({{"name", "SETTING_" + std::to_string(i)}, {"value", "value of it"}}));
    return with_managed_fields(std::move(job));
}

net::HttpRequest request(const std::string& path, const char* operation, const Json& object,
                         const Json& old) {
    const auto type = [](const char* member, const char* name) {
        return Json::object({{"group", "trainer.kubeflow.org"}, {"version", "v1alpha1"}, {member, name}});
    };
    // In the API server's order (admission.k8s.io/v1, AdmissionRequest).
    const std::pair<const char*, Json> members[] = {
        {"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"},
        {"kind", type("kind", "TrainJob")},
        {"resource", type("resource", "trainjobs")},
        {"requestKind", type("kind", "TrainJob")},
        {"requestResource", type("resource", "trainjobs")},
        {"name", "language-model"},
        {"namespace", "research"},
        {"operation", operation},
        {"userInfo",
         Json::object({{"username", "ana@example.com"}, {"groups", Json::array({"system:authenticated"})}})},
        {"object", object},
        {"oldObject", old},
        {"dryRun", false},
        {"options", Json::object({{"kind", "CreateOptions"}, {"apiVersion", "meta.k8s.io/v1"}})}};
    std::string review = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{)";
    for (const auto& [name, value] : members)
        review += (name == members[0].first ? "\"" : ",\"") + std::string(name) + "\":" + to_json(value);
    review += "}}";
    return {.method = "POST",
            .target = path + "?timeout=10s",
            .headers = {{"Content-Type", "application/json"}},
            .body = std::move(review)};
}

// The runtime is in the cache, so the reviews of this benchmark send no request.
class NoApiServer final : public kube::ApiServer {
    kube::Async<kube::Response> send(kube::Request) override { std::abort(); }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request) override { std::abort(); }
};

class Desk {
public:
    Desk() { runtimes_.set({"", "torch-distributed"}, admission::make_runtime_text(runtime())); }

    std::string answer(net::HttpRequest& request) {
        std::string body;
        const auto ask = [&]() -> net::Task<> { body = (co_await handler_(request)).body; };
        run(ask());
        return body;
    }

    /// Answers in a row, as a connection does.
    void answer(net::HttpRequest& request, int times) {
        const auto ask = [&]() -> net::Task<> {
            for (int i = 0; i < times; ++i) (void)co_await handler_(request);
        };
        run(ask());
    }

private:
    void run(net::Task<> task) {
        boost::asio::co_spawn(context_, std::move(task), boost::asio::detached);
        context_.restart();
        context_.run();
    }

    boost::asio::io_context context_{1};
    std::unique_ptr<kube::Clock> clock_ = kube::make_clock(context_.get_executor());
    net::Log log_{net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}};
    net::Metrics metrics_ = {};
    admission::ReviewMetrics review_metrics_{metrics_};
    admission::RuntimeLister runtimes_;
    NoApiServer server_ = {};
    admission::InputReader facts_{runtimes_, server_};
    admission::ReviewHandler handler_{facts_, *clock_, review_metrics_, log_};
};

double cpu_microseconds() {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) * 1e6 + double(time.tv_nsec) / 1e3;
}

struct Measured {
    const char* what;
    net::HttpRequest request;
};

std::vector<Measured> reviews_of(const Json& job) {
    Json relabelled = job;
    relabelled["metadata"]["labels"]["team"] = "vision";
    return {{"validate CREATE", request(validate_path, "CREATE", job, Json())},
            {"mutate CREATE", request(mutate_path, "CREATE", job, Json())},
            {"validate UPDATE of a label", request(validate_path, "UPDATE", relabelled, job)},
            {"mutate UPDATE of a label", request(mutate_path, "UPDATE", relabelled, job)}};
}

// The median of many short runs: other programs on the machine disturb few of them.
void measure(const char* what, net::HttpRequest request) {
    constexpr int runs = 101;
    constexpr int reviews = 200;
    Desk desk;
    if (desk.answer(request).find("\"allowed\":true") == std::string::npos) {
        std::fprintf(stderr, "%s: denied: %s\n", what, desk.answer(request).c_str());
        std::exit(1);
    }
    std::vector<double> times;
    std::size_t before = 0;
    for (int run = 0; run < runs; ++run) {
        before = allocations();
        const double began = cpu_microseconds();
        desk.answer(request, reviews);
        times.push_back((cpu_microseconds() - began) / reviews);
        before = allocations() - before;
    }
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    std::printf("%-34s %6zu bytes  %6.1f us  %5.1f allocations\n", what, request.body.size(), times[runs / 2],
                double(before) / reviews);
}

std::vector<CountedCase> counted_cases(const std::vector<Measured>& reviews) {
    std::vector<CountedCase> cases;
    for (const Measured& each : reviews)
        cases.push_back({each.what, [desk = std::make_shared<Desk>(), request = each.request]() mutable {
                             desk->answer(request);
                         }});
    return cases;
}

}  // namespace

int main(int count, char** arguments) {
    const std::size_t usual_bytes = 8192;
    const std::size_t given = count == 2 ? std::strtoul(arguments[1], nullptr, 10) : 0;
    const Json job = train_job_of(given > 0 ? given : usual_bytes);
    std::vector<Measured> reviews = reviews_of(job);
    if (const auto status = count_instructions(count, arguments, counted_cases(reviews))) return *status;
    std::printf("TrainJob of %zu bytes, %zu of them managedFields\n", to_json(job).size(),
                to_json(std::as_const(job)["metadata"]["managedFields"]).size());
    for (Measured& each : reviews) measure(each.what, std::move(each.request));
}
