#pragma once
// The server of reports with an API server that has some TrainJobs with their JobSets and Pods.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "net/process/task_group.hpp"
#include "progress/report_handler.hpp"
#include "support/fake_api_server.hpp"
#include "support/printers.hpp"
#include "tokens.hpp"

namespace test {

using api::Json;
using namespace std::chrono_literals;

inline const api::ObjectKey job = {.ns = "ns", .name = "job"};

class Cluster {
public:
    struct Options {
        progress::ScheduleLimits limits = {};
        bool reviews_by_address = true;
    };
    Cluster() : Cluster(Options()) {}
    explicit Cluster(Options options)
        : schedule(options.limits),
          authenticator(server, server, clock, schedule, metrics,
                        {.jobs = options.limits.jobs, .reviews_by_address = options.reviews_by_address}) {
        server.answer = [this](const kube::Request& request) { return answer(request); };
        loops.start(writer.run(), [](const std::exception_ptr&) {});
        add_job(job, "job-1", "set-1");
        add_pod(job, "pod-1", "set-1");
    }
    ~Cluster() {
        loops.cancel();
        clock.run_for(2h);
    }
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    void add_job(const api::ObjectKey& key, const std::string& uid, const std::string& set) {
        Json object = named(key, uid);
        object["metadata"]["resourceVersion"] = std::to_string(++version);
        objects[path("trainjobs", key)] = std::move(object);
        Json job_set = named(key, set);
        job_set["metadata"]["ownerReferences"] = owner("trainer.kubeflow.org/v1alpha1", "TrainJob", uid);
        objects[path("jobsets", key)] = std::move(job_set);
    }
    /// Adds a Pod; its name is its UID.
    void add_pod(const api::ObjectKey& of, const std::string& uid, const std::string& set) {
        Json pod = named({.ns = of.ns, .name = uid}, uid);
        pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-uid"] = set;
        pod["metadata"]["ownerReferences"] = owner("batch/v1", "Job", "j1");
        objects[path("pods", {.ns = of.ns, .name = uid})] = std::move(pod);
    }
    Json& object(const char* plural, const api::ObjectKey& key) { return objects.at(path(plural, key)); }
    void remove(const char* plural, const api::ObjectKey& key) { objects.erase(path(plural, key)); }
    Json trainer_status(const api::ObjectKey& key = job) {
        const auto at = objects.find(path("trainjobs", key));
        return at == objects.end() ? Json() : std::as_const(at->second)["status"]["trainerStatus"];
    }

    api::Time wall() const { return std::chrono::floor<std::chrono::seconds>(clock.wall()); }
    std::string token(const std::string& pod = "pod-1", const api::ObjectKey& of = job) const {
        return token_of(claims_of(of, pod, pod, wall()));
    }
    std::string report(int percentage) const {
        return R"({"trainerStatus": {"progressPercentage": )" + std::to_string(percentage) +
               R"(, "lastUpdatedTime": ")" + api::format_time(wall()) + "\"}}";
    }
    static net::HttpRequest post(const std::string& token, std::string body, const api::ObjectKey& to = job) {
        return {.method = "POST",
                .target = "/apis/" + progress::audience_of(to),
                .headers = {{"Authorization", "Bearer " + token}},
                .body = std::move(body),
                .peer = "10.0.0.1"};
    }

    using Answer = std::shared_ptr<std::optional<net::HttpResponse>>;
    Answer start(net::HttpRequest request) {
        auto answer = std::make_shared<std::optional<net::HttpResponse>>();
        boost::asio::co_spawn(
            context, exchange(handler, std::move(request)),
            [answer](std::exception_ptr, net::HttpResponse response) { *answer = std::move(response); });
        clock.run();
        return answer;
    }
    /// Returns the status of an answer that arrives within `time`.
    int send(net::HttpRequest request, std::chrono::milliseconds time = 0ms) {
        const Answer answer = start(std::move(request));
        clock.run_for(time);
        REQUIRE(*answer);
        last = **answer;
        return last.status;
    }
    int send(const std::string& token, std::string body, std::chrono::milliseconds time = 0ms) {
        return send(post(token, std::move(body)), time);
    }
    /// Sends one report of the Pod, and waits until it is written.
    void begin() {
        REQUIRE(send(token(), report(1)) == 200);
        requests.clear();
    }
    std::string message() const {
        return std::string(api::parse_json(last.body).value()["message"].as_string());
    }
    double metric(const std::string& series) const {
        const std::string text = registry.expose();
        const auto at = text.find("\n" + series + " ");
        return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
    }

    boost::asio::io_context context{1};
    VirtualClock clock{context};
    FakeApiServer server{clock};
    std::map<std::string, Json> objects = {};
    std::vector<std::string> requests = {};  ///< "GET trainjobs.trainer.kubeflow.org", in order
    std::set<std::string> revoked = {};      ///< UIDs of Pods whose tokens are invalid
    std::function<void(Json& status)> distort_review = {};
    /// Errors that replace answers, by their entry in `requests`.
    std::map<std::string, api::Error> errors = {};
    std::function<void(const kube::Request&)> before_write = {};
    int version = 100;
    std::string log_text = {};
    net::Log log{net::LogLevel::debug, net::LogFormat::text,
                 [this](std::string_view line) { log_text += line; }};
    net::Metrics registry = {};
    progress::Metrics metrics{registry};
    progress::Schedule schedule;
    progress::PodAuthenticator authenticator;
    progress::StatusWriter writer{context.get_executor(), server, clock, schedule, metrics, log};
    progress::ReportHandler handler{authenticator, schedule, writer, clock, metrics, log};
    net::TaskGroup loops{context.get_executor()};
    net::HttpResponse last = {};

private:
    static Json named(const api::ObjectKey& key, const std::string& uid) {
        return Json::object({{"metadata", Json::object({{"name", key.name},
                                                        {"namespace", key.ns},
                                                        {"uid", uid},
                                                        {"creationTimestamp", "2026-01-15T00:00:00Z"}})}});
    }
    static Json owner(const char* version, const char* kind, const std::string& uid) {
        Json reference =
            Json::object({{"apiVersion", version}, {"kind", kind}, {"uid", uid}, {"controller", true}});
        return Json::array({std::move(reference)});
    }
    static std::string path(const std::string& plural, const api::ObjectKey& key) {
        return plural + "/" + key.ns + "/" + key.name;
    }
    static net::Task<net::HttpResponse> exchange(progress::ReportHandler& handler, net::HttpRequest request) {
        auto answer = handler.answer(request);
        if (auto* later = std::get_if<net::Task<net::HttpResponse>>(&answer))
            co_return co_await std::move(*later);
        co_return std::move(std::get<net::HttpResponse>(answer));
    }

    api::Result<kube::Response> answer(const kube::Request& request) {
        const std::string what = request.method + " " + kube::resource_of(request.target);
        requests.push_back(what);
        if (const auto at = errors.find(what); at != errors.end()) return at->second;
        if (request.method == "POST") return review(api::parse_json(request.body).value());
        if (request.method == "PATCH") return write(request);
        const Json* found = find(request.target);
        if (!found) return refusal(404, api::Errc::not_found);
        return kube::Response{200, api::to_json(*found)};
    }
    Json* find(const std::string& target) {
        std::vector<std::string> parts;
        for (std::size_t at = 0; at < target.size() && target[at] != '?';) {
            const auto end = std::min(target.find_first_of("/?", at + 1), target.size());
            parts.push_back(target.substr(at + 1, end - at - 1));
            at = end;
        }
        for (std::size_t i = 0; i + 3 < parts.size(); ++i) {
            if (parts[i] != "namespaces") continue;
            const auto at = objects.find(path(parts[i + 2], {.ns = parts[i + 1], .name = parts[i + 3]}));
            return at == objects.end() ? nullptr : &at->second;
        }
        return nullptr;
    }
    kube::Response review(const Json& asked) const {
        const std::string token(asked["spec"]["token"].as_string());
        const auto payload = token.substr(token.find('.') + 1);
        const Json claims =
            api::parse_json(api::from_base64url(payload.substr(0, payload.find('.'))).value()).value();
        const Json& bound = claims["kubernetes.io"];
        const std::string uid(bound["pod"]["uid"].as_string());
        Json status = Json::object();
        status["authenticated"] = !revoked.contains(uid);
        if (!revoked.contains(uid)) {
            status["audiences"] = asked["spec"]["audiences"];
            status["user"]["username"] =
                "system:serviceaccount:" + std::string(bound["namespace"].as_string()) + ":default";
            Json& extra = status["user"]["extra"];
            extra["authentication.kubernetes.io/pod-name"] = Json::array({bound["pod"]["name"]});
            extra["authentication.kubernetes.io/pod-uid"] = Json::array({bound["pod"]["uid"]});
        }
        if (distort_review) distort_review(status);
        return {201, api::to_json(Json::object({{"status", std::move(status)}}))};
    }
    api::Result<kube::Response> write(const kube::Request& request) {
        if (before_write) before_write(request);
        Json* found = find(request.target);
        if (!found) return refusal(404, api::Errc::not_found);
        const Json applied = api::parse_json(request.body).value();
        Json& metadata = (*found)["metadata"];
        if (applied["metadata"]["resourceVersion"] != metadata["resourceVersion"])
            return refusal(409, api::Errc::conflict);
        metadata["resourceVersion"] = std::to_string(++version);
        (*found)["status"]["trainerStatus"] = applied["status"]["trainerStatus"];
        return kube::Response{200, api::to_json(*found)};
    }
};

inline const std::string get_job = "GET trainjobs.trainer.kubeflow.org";
inline const std::string get_job_set = "GET jobsets.jobset.x-k8s.io";
inline const std::string get_pod = "GET pods";
inline const std::string ask_review = "POST tokenreviews.authentication.k8s.io";
inline const std::string write_status = "PATCH trainjobs.trainer.kubeflow.org/status";

using Requests = std::vector<std::string>;

}  // namespace test
