// Feature gate TrainJobStatus: the address and the token with which Pods report progress.
#include "api/base64.hpp"
#include "fixtures.hpp"
#include "runtime/plugin.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const char* const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

const runtime::Features gate_on = {
    .status_server = runtime::StatusServer{.url = "https://s.ops.svc:1", .ca_secret = {"ops", "ca"}}};

Json ca_secret(const std::string& pem = certificate) {
    Json secret = tree("{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: ops}}");
    secret["data"]["ca.crt"] = api::to_base64(pem);
    return secret;
}

api::Result<runtime::Built> build(const Json& job, const Json& blueprint, std::vector<Json> observed) {
    const api::TrainJob train = api::parse_train_job(job);
    return runtime::build({.job = train, .runtime = blueprint, .observed = std::move(observed)},
                          runtime::make_pipeline(gate_on));
}

}  // namespace

TEST_CASE("the status server's CA comes before the Pods, and is kept up to date", "[status]") {
    const auto built = build(train_job(), plain_runtime(), {ca_secret()});
    REQUIRE(built);
    REQUIRE(built->objects.size() == 2);
    CHECK(built->objects[0].object["metadata"]["name"] == "job-tls-config");
    CHECK(built->objects[0].object["data"]["ca.crt"] == certificate);
    CHECK(built->objects[0].when == runtime::ApplyPolicy::always);
}

TEST_CASE("only containers of the trainer get the address for reports", "[status]") {
    const Json blueprint = changed(
        plain_runtime(),
        {{"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[1]",
          "{name: side, image: i}"},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.initContainers[0]",
          "{name: init, image: i}"},
         {"spec.template.spec.replicatedJobs[1]",
          "{name: other, template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}"}});
    const auto built = build(train_job(), blueprint, {ca_secret()});
    REQUIRE(built);
    const Json& jobs = built->objects.back().object["spec"]["replicatedJobs"];
    const Json& pod = jobs[0]["template"]["spec"]["template"]["spec"];
    for (const Json& container : pod["containers"].items()) {
        CHECK(env_text(container) ==
              "KUBEFLOW_TRAINER_SERVER_URL=https://s.ops.svc:1/apis/trainer.kubeflow.org/v1alpha1/namespaces/"
              "ns/trainjobs/job/status "
              "KUBEFLOW_TRAINER_SERVER_CA_CERT=/var/run/secrets/kubeflow/trainer/ca.crt "
              "KUBEFLOW_TRAINER_SERVER_TOKEN=/var/run/secrets/kubeflow/trainer/token");
        CHECK(container["volumeMounts"][0]["readOnly"] == Json(true));
    }
    CHECK(pod["initContainers"][0] == tree("{name: init, image: i}"));
    CHECK(pod["volumes"].items().size() == 1);
    const Json& other = jobs[1]["template"]["spec"]["template"]["spec"];
    CHECK(other["volumes"].is_null());
    CHECK(other["containers"][0] == tree("{name: node, image: i}"));
}

TEST_CASE("without a CA certificate nothing is built, and the error names the Secret", "[status]") {
    struct Case {
        const char* name;
        std::vector<Json> observed;
        const char* want;
    };
    Json empty = ca_secret();
    empty["data"] = tree("{other: YQ==}");
    Json broken = ca_secret();
    broken["data"]["ca.crt"] = "***";
    const Case cases[] = {
        {"no Secret", {}, "does not exist"},
        {"a Secret without it", {empty}, "of Secret ops/ca is missing"},
        {"no base64", {broken}, "is not a list of certificates"},
        {"no certificate", {ca_secret("hello")}, "is not a list of certificates"},
        {"bytes", {ca_secret(std::string(certificate) + "\xff")}, "is not a list of certificates"},
        // Every user of the namespace could read it.
        {"a private key",
         {ca_secret(std::string(certificate) + "-----BEGIN PRIVATE KEY-----\n")},
         "is not a list"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto built = build(train_job(), plain_runtime(), c.observed);
            REQUIRE_FALSE(built);
            CHECK(built.error().field == "data[ca.crt]");
            CHECK_THAT(built.error().message, Catch::Contains(c.want));
        }
    }
}

TEST_CASE("names of the status server are reserved while the gate is on", "[status]") {
    const Json blueprint = plain_runtime();
    const Json job = changed(train_job(), {{"spec.trainer.env", R"([{name: A, value: a},
        {name: KUBEFLOW_TRAINER_SERVER_TOKEN, value: /mine}, {name: KUBEFLOW_TRAINER_SERVER_OTHER, value: x}])"}});
    const auto fields = [&](const runtime::Features& features) {
        std::string text;
        const runtime::Pipeline pipeline = runtime::make_pipeline(features);
        for (const api::FieldError& error :
             runtime::validate_train_job({.object = job, .old_object = Json(), .runtime = &blueprint},
                                         pipeline)
                 .errors)
            text += error.field + (error.type == api::FieldErrorType::forbidden ? " forbidden\n" : "\n");
        return text;
    };
    CHECK(fields(gate_on) == "spec.trainer.env[1] forbidden\nspec.trainer.env[2] forbidden\n");
    CHECK(fields({}).empty());

    const auto built = build(job, blueprint, {ca_secret()});
    REQUIRE_FALSE(built);
    CHECK(built.error().field == "spec.trainer.env[1]");
}

TEST_CASE("the CA is needed once for all TrainJobs, and only a part of its Secret", "[status]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const auto needs = runtime::needs(job, plain_runtime(), {}, runtime::make_pipeline(gate_on));
    REQUIRE(needs.objects.size() == 2);
    CHECK(needs.objects[0].key == api::ObjectKey{"ops", "ca"});
    CHECK(needs.objects[0].shared_read ==
          runtime::Shared{.max_age = std::chrono::minutes(10), .data_key = "ca.crt"});
    CHECK(needs.objects[1].apply == runtime::ApplyPolicy::always);
    CHECK(runtime::needs(job, plain_runtime()).objects.empty());
}
