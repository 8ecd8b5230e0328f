// Errors of the API server that block reconcilers for a while, and what a job must say by then.
#include <algorithm>

#include "acts.hpp"
#include "wire.hpp"

namespace model {

Action limit(const char* kind, const char* refusal) {
    return [=](World& world) {
        world.api.admit_create = [=](const Kind& of, const Json& object) -> std::optional<Reply> {
            if (of.kind != kind) return std::nullopt;
            const std::string name(object["metadata"]["name"].as_string());
            return failure(403, "Forbidden",
                           std::string(of.resource) + " \"" + name + "\" is forbidden: " + refusal);
        };
    };
}
Action limit_job_sets(std::size_t count) {
    return [=](World& world) {
        world.api.admit_create = [=, &world](const Kind& of, const Json& object) -> std::optional<Reply> {
            const std::size_t used = world.api.all("jobsets.jobset.x-k8s.io").size();
            if (of.kind != "JobSet" || used < count) return std::nullopt;
            const auto counted = [](std::size_t amount) {
                return "count/jobsets.jobset.x-k8s.io=" + std::to_string(amount);
            };
            return failure(403, "Forbidden",
                           "jobsets.jobset.x-k8s.io \"" +
                               std::string(object["metadata"]["name"].as_string()) +
                               "\" is forbidden: exceeded quota: few, requested: " + counted(1) +
                               ", used: " + counted(used) + ", limited: " + counted(count));
        };
    };
}
Action limit_nothing() {
    return [](World& world) { world.api.admit_create = {}; };
}

Action fail_writes(const char* text) {
    return [=](World& world) {
        world.out_of_order = [=](const kube::Request& request) -> std::optional<Reply> {
            if (request.method == "GET") return std::nullopt;
            return failure(500, "InternalError", text);
        };
    };
}
Action fail_reads(const char* resource, const char* text) {
    return [=](World& world) {
        world.out_of_order = [=](const kube::Request& request) -> std::optional<Reply> {
            if (request.method != "GET" || kube::resource_of(request.target) != resource) return std::nullopt;
            return failure(500, "InternalError", text);
        };
    };
}
Action fail_deletions(const char* resource) {
    return [=](World& world) {
        world.out_of_order = [=](const kube::Request& request) -> std::optional<Reply> {
            if (request.method != "DELETE" || kube::resource_of(request.target) != resource)
                return std::nullopt;
            return failure(500, "InternalError", "etcdserver: no leader");
        };
    };
}
Action fail_webhook_of(const char* kind) {
    return [=](World& world) {
        world.api.admit_create = [=](const Kind& of, const Json&) -> std::optional<Reply> {
            if (of.kind != kind) return std::nullopt;
            return failure(500, "InternalError",
                           "Internal error occurred: failed calling webhook \"w.example.com\": connection "
                           "refused");
        };
    };
}
Action fail_nothing() {
    return [](World& world) {
        world.out_of_order = {};
        world.api.admit_create = {};
    };
}

Action delay_job_set(std::chrono::seconds until) {
    return [=](World& world) {
        const auto delayed = std::make_shared<bool>(false);
        world.out_of_order = [=, &world](const kube::Request& request) -> std::optional<Reply> {
            if (request.method == "GET" || kube::resource_of(request.target) != "jobsets.jobset.x-k8s.io" ||
                request.target.find("dryRun=All") != std::string::npos)
                return std::nullopt;
            if (!std::exchange(*delayed, true))
                world.time.at(VirtualTime::start + until, [&world, request] { world.api.handle(request); });
            return failure(504, "Timeout", "the server was unable to return a response in the time allotted");
        };
    };
}

Action refuse_parallelism_over(int count) {
    return [count](World& world) {
        world.api.admit_create = [count](const Kind&, const Json& object) -> std::optional<Reply> {
            const Json& job = object["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"];
            if (job["parallelism"].int_or(0) <= count) return std::nullopt;
            return failure(422, "Invalid", "JobSet.jobset.x-k8s.io \"job\" is invalid: too many pods");
        };
    };
}

Action refuse_image(const std::string& image) {
    return [image](World& world) {
        world.api.admit_create = [image](const Kind& kind, const Json& object) -> std::optional<Reply> {
            if (kind.kind != "JobSet") return std::nullopt;
            const Json& pod =
                object["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"]["template"];
            if (pod["spec"]["containers"][std::size_t{0}]["image"].as_string() != image) return std::nullopt;
            return failure(403, "Forbidden", "jobsets \"job\" is forbidden: no such image: " + image);
        };
    };
}

Action slow_job_set_controller(std::chrono::milliseconds lag) {
    return [lag](World& world) { world.job_set_lag = lag; };
}

Action end_namespace() {
    return [](World& world) {
        world.api.admit_create = [](const Kind& kind, const Json&) -> std::optional<Reply> {
            if (kind.kind != "JobSet" && kind.kind != "ConfigMap" && kind.kind != "Event")
                return std::nullopt;
            return failure(403, "Forbidden",
                           "unable to create new content in namespace ns because it is being terminated");
        };
    };
}

Action expect_no_condition() {
    return [](World& world) {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        const auto conditions =
            job ? api::parse_train_job(job->object).conditions : std::vector<api::Condition>();
        for (const api::Condition& each : conditions) {
            const bool names_the_server = each.reason == api::reason::jobs_build_retrying ||
                                          each.reason == api::reason::jobs_creation_retrying;
            // How long an error lasts is measured by that clock, too.
            const bool is_early = !names_the_server && !world.invariants.two_clocks_are_wrong;
            if (world.is_unharmed() || is_early)
                world.invariants.complain("the job has the condition " + each.reason);
        }
    };
}

Action expect_reason(const char* reason) {
    return [=](World& world) {
        const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
        const auto conditions =
            job ? api::parse_train_job(job->object).conditions : std::vector<api::Condition>();
        const bool said = !conditions.empty() && conditions.back().reason == reason;
        if (world.is_unharmed() && !said)
            world.invariants.complain(std::string("the job does not say ") + reason);
    };
}

Action expect_job_set() {
    return [](World& world) {
        const auto& history = world.api.history("jobsets.jobset.x-k8s.io");
        const bool made = std::any_of(history.begin(), history.end(), [](const Change& change) {
            return change.type == Change::Type::added;
        });
        if (made && !world.api.find("jobsets.jobset.x-k8s.io", the_job))
            world.invariants.complain("the JobSet was deleted though no other may come");
    };
}

}  // namespace model
