// Feature gate TrainJobStatus: Pods of trainers report their progress to a server. They get its address, a
// token that is valid for this TrainJob alone, and the CA of its certificate.
#include <algorithm>

#include "api/base64.hpp"
#include "api/names.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view reserved_prefix = "KUBEFLOW_TRAINER_SERVER_";
constexpr std::string_view folder = "/var/run/secrets/kubeflow/trainer";
constexpr std::string_view token_volume = "kubeflow-trainer-token";
constexpr std::string_view ca_key = "ca.crt";
constexpr std::string_view token_file = "token";
constexpr std::int64_t token_seconds = 3600;
constexpr std::chrono::minutes ca_max_age{10};

std::string ca_map_name(const api::TrainJob& job) { return job.meta.name + "-tls-config"; }

// Returns the path at the server for reports of a TrainJob, which is the audience of the token, too.
std::string status_path(const api::TrainJob& job) {
    return std::string(api::trainer_api_version) + "/namespaces/" + job.meta.ns + "/trainjobs/" +
           job.meta.name + "/status";
}

std::string path_of(std::string_view file) { return std::string(folder) + "/" + std::string(file); }

Json token_and_ca(const api::TrainJob& job) {
    Json token = Json::object(
        {{"path", token_file}, {"audience", status_path(job)}, {"expirationSeconds", token_seconds}});
    Json item = Json::object({{"key", ca_key}, {"path", ca_key}});
    Json ca = Json::object({{"name", ca_map_name(job)}, {"items", Json::array({std::move(item)})}});
    Json sources = Json::array({Json::object({{"serviceAccountToken", std::move(token)}}),
                                Json::object({{"configMap", std::move(ca)}})});
    return Json::object(
        {{"name", token_volume}, {"projected", Json::object({{"sources", std::move(sources)}})}});
}

// Returns whether a text has certificates and no key. It goes into a ConfigMap, which every reader of
// ConfigMaps in the TrainJob's namespace can read.
bool holds_certificates_only(std::string_view pem) {
    return pem.find("-----BEGIN CERTIFICATE-----") != pem.npos && pem.find("PRIVATE KEY") == pem.npos &&
           std::all_of(pem.begin(), pem.end(), [](unsigned char c) { return c < 0x80; });
}

constexpr api::RuleId admission_rules[] = {api::RuleId("status_reserved_env")};

class Status final : public Plugin {
public:
    explicit Status(StatusServer server) : server_(std::move(server)) {}

    std::string_view name() const override { return "status"; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        needs.objects.push_back(ca_need());
        needs.objects.push_back({.resource = api::resources::config_maps,
                                 .key = {.ns = context.job.meta.ns, .name = ca_map_name(context.job)},
                                 .apply = ApplyPolicy::always});
    }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        for_each_reserved(review.job.spec["trainer"]["env"], [&](std::string path) {
            errors.push_back(
                {api::FieldErrorType::forbidden, std::move(path), {}, std::string(reserved), {}});
        });
    }

    api::Result<> enforce_pod_spec(const Inputs&, Info& info) const override {
        std::string taken;
        for_each_reserved(info.trainer["env"], [&](std::string path) {
            if (taken.empty()) taken = std::move(path);
        });
        if (!taken.empty()) return api::invalid(taken, std::string(reserved));
        const PodSet* pods = info.trainer_pod_set();
        if (!pods) return {};
        Json& pod = info.pod_spec(*pods);
        upsert_volume(pod, token_and_ca(info.job));
        Json* containers = pod.find("containers");
        if (!containers) return {};
        for (Json& container : containers->items()) {
            upsert_env(container, env_value("KUBEFLOW_TRAINER_SERVER_URL",
                                            server_.url + "/apis/" + status_path(info.job)));
            upsert_env(container, env_value("KUBEFLOW_TRAINER_SERVER_CA_CERT", path_of(ca_key)));
            upsert_env(container, env_value("KUBEFLOW_TRAINER_SERVER_TOKEN", path_of(token_file)));
            upsert_mount(container,
                         Json::object({{"name", token_volume}, {"mountPath", folder}, {"readOnly", true}}));
        }
        return {};
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        auto ca = ca_of(find_observed(inputs.observed, ca_need()));
        if (!ca) return ca.error();
        Json map = Json::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
        map["metadata"]["name"] = ca_map_name(info.job);
        map["data"][ca_key] = std::move(*ca);
        built.objects.push_back({std::move(map), ApplyPolicy::always});
        return {};
    }

private:
    static constexpr std::string_view reserved =
        "is reserved: names that begin with KUBEFLOW_TRAINER_SERVER_ are set for reporting progress";

    template <class Found>
    static void for_each_reserved(const Json& env, const Found& found) {
        const auto& entries = env.items();
        for (std::size_t i = 0; i < entries.size(); ++i)
            if (entries[i]["name"].as_string().starts_with(reserved_prefix))
                found("spec.trainer.env[" + std::to_string(i) + "]");
    }

    Need ca_need() const {
        return {.resource = api::resources::secrets,
                .key = server_.ca_secret,
                .shared_read = Shared{.max_age = ca_max_age, .data_key = std::string(ca_key)}};
    }

    api::Result<std::string> ca_of(const Json* secret) const {
        const std::string where = "of Secret " + to_string(server_.ca_secret) + " ";
        const auto wrong = [&](const std::string& what) {
            return api::invalid("data[ca.crt]",
                                where + what + ": the Pods could not know the status server by it");
        };
        if (!secret) return wrong("is missing, because the Secret does not exist");
        const Json& data = (*secret)["data"][ca_key];
        if (data.as_string().empty()) return wrong("is missing");
        auto pem = api::from_base64(data.as_string());
        if (!pem || !holds_certificates_only(*pem)) return wrong("is not a list of certificates in PEM");
        return pem;
    }

    StatusServer server_;
};

}  // namespace

std::unique_ptr<Plugin> make_status(StatusServer server) {
    return std::make_unique<Status>(std::move(server));
}

}  // namespace runtime
