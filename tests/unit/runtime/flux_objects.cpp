#include "flux_objects.hpp"

using api::Json;

const Json& FluxObjects::pod() const {
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
}

const Json& FluxObjects::node() const { return node_container(job_set); }

const Json& FluxObjects::installer() const { return pod()["initContainers"].items().back(); }

std::string FluxObjects::file(std::string_view name) const {
    return std::string(config_map["data"][name].as_string());
}

api::Result<FluxObjects> build_flux(const std::vector<Change>& job, const std::vector<Change>& of_runtime) {
    const api::TrainJob train = api::parse_train_job(changed(train_job(), job));
    const Json blueprint = changed(runtime_with("flux"), of_runtime);
    const runtime::CurveKeyPair keys = {.public_key = std::string(32, 'p'),
                                        .secret_key = std::string(32, 's')};
    auto built = runtime::build({.job = train, .runtime = blueprint, .curve_key_pair = keys});
    if (!built) return built.error();
    FluxObjects objects;
    for (runtime::BuiltObject& each : built->objects) {
        const std::string kind(std::as_const(each.object)["kind"].as_string());
        if (kind == "Secret") objects.secret_applied = each.when;
        if (kind == "ConfigMap") objects.config_map_applied = each.when;
        (kind == "JobSet"   ? objects.job_set
         : kind == "Secret" ? objects.secret
                            : objects.config_map) = std::move(each.object);
    }
    return objects;
}
