// Initializers download datasets and models before the training, with any framework.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

TEST_CASE("initializers get the place to download from", "[runtime]") {
    struct Case {
        const char* name;
        const char* initializer;
        const char* want;  // of the container, beside its name
    };
    const Case cases[] = {
        {"nothing", "null", "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}]}"},
        {"nothing for this step", "{model: {storageUri: s3://m}}",
         "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}]}"},
        {"a place", "{dataset: {storageUri: hf://d}}",
         "{env: [{name: STORAGE_URI, value: hf://d}, {name: A, value: a}]}"},
        {"an empty place", "{dataset: {storageUri: \"\"}}",
         "{env: [{name: STORAGE_URI, value: \"\"}, {name: A, value: a}]}"},
        {"variables, which do not override the place",
         "{dataset: {storageUri: hf://d, env: [{name: STORAGE_URI, value: mine}, {name: B, value: b}]}}",
         "{env: [{name: STORAGE_URI, value: hf://d}, {name: A, value: a}, {name: B, value: b}]}"},
        {"a variable of another source, which does not either",
         "{dataset: {storageUri: hf://d, env: [{name: STORAGE_URI, valueFrom: {secretKeyRef: {name: s, key: "
         "k}}}]}}",
         "{env: [{name: STORAGE_URI, value: hf://d}, {name: A, value: a}]}"},
        {"a variable for the place", "{dataset: {env: [{name: STORAGE_URI, value: mine}]}}",
         "{env: [{name: STORAGE_URI, value: mine}, {name: A, value: a}]}"},
        {"a variable beside an empty place",
         "{dataset: {storageUri: \"\", env: [{name: STORAGE_URI, value: mine}]}}",
         "{env: [{name: STORAGE_URI, value: mine}, {name: A, value: a}]}"},
        {"credentials without a name, which the schema makes of none", "{dataset: {secretRef: {name: \"\"}}}",
         "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}]}"},
        {"credentials", "{dataset: {secretRef: {name: s}}}",
         "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}], envFrom: [{secretRef: {name: s}}]}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            // Found by label: the job's name does not matter.
            const Json runtime =
                changed(plain_runtime(), {{"spec.template.spec.replicatedJobs[1]",
                                           "{name: fetch, replicas: 2, template: {metadata: {labels: "
                                           "{trainer.kubeflow.org/trainjob-ancestor-step: "
                                           "dataset-initializer}}, spec: {template: {spec: "
                                           "{containers: [{name: dataset-initializer, image: i, env: [{name: "
                                           "STORAGE_URI, value: old}, {name: A, value: "
                                           "a}]}]}}}}}"}});
            const Json job = changed(train_job(), {{"spec.initializer", c.initializer}});
            const Json job_set = build_job_set(job, runtime).value();
            const Json& fetch = job_set["spec"]["replicatedJobs"][1];
            Json have = fetch["template"]["spec"]["template"]["spec"]["containers"][0];
            have.erase("name");
            have.erase("image");
            CHECK(have == tree(c.want));
            CHECK(fetch["replicas"] == 1);
        }
    }
}

TEST_CASE("an environment that many jobs would multiply beyond the size of an API object is refused",
          "[runtime]") {
    const auto outcome = [](int jobs, std::size_t bytes) {
        Json runtime = plain_runtime();
        for (int index = 1; index <= jobs; ++index) {
            Json job = tree(
                "{template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
                "dataset-initializer}}, spec: {template: {spec: {containers: [{name: "
                "dataset-initializer, image: i}]}}}}}");
            job["name"] = "fetch-" + std::to_string(index);
            at(runtime, "spec.template.spec.replicatedJobs").push_back(std::move(job));
        }
        Json job = train_job();
        at(job, "spec.initializer.dataset.env[0]") =
            Json::object({{"name", "A"}, {"value", std::string(bytes, 'x')}});
        const auto built = build_job_set(job, runtime);
        return built ? "built" : built.error().field;
    };
    CHECK(outcome(1, 1'000'000) == "built");
    CHECK(outcome(5, 100'000) == "built");
    CHECK(outcome(2, 800'000) == "spec.initializer.dataset");
    CHECK(outcome(5'000, 500'000) == "spec.initializer.dataset");  // two gigabytes and a half
}

TEST_CASE("admission warns of places that Kubeflow's initializers do not know", "[admission]") {
    const auto warned = [](const char* initializer,
                           const char* image = "ghcr.io/x/dataset-initializer:v2.3.0") {
        const std::string job =
            "{name: dataset-initializer, template: {metadata: {labels: "
            "{trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}, spec: {template: {spec: "
            "{containers: [{name: dataset-initializer, image: '" +
            std::string(image) + "', volumeMounts: [{name: initializer, mountPath: /w}]}]}}}}}";
        const Json runtime =
            changed(plain_runtime(), {{"spec.template.spec.replicatedJobs[1]", job.c_str()}});
        const Json object = changed(train_job(), {{"spec.initializer.dataset", initializer}});
        const auto found = runtime::validate_train_job({.object = object, .runtime = &runtime});
        CHECK(found.errors.empty());
        std::string text;
        for (const api::Warning& warning : found.warnings) {
            CHECK(warning.rule == api::RuleId("storage_uri"));
            text += warning.text + "\n";
        }
        return text;
    };
    const char* const unknown =
        "spec.initializer.dataset.storageUri: the initializer knows hf://, s3://, cache:// and not gs://\n";
    CHECK(warned("{storageUri: 'gs://bucket/data'}") == unknown);
    CHECK(warned("{storageUri: 'gs://bucket/data'}", "dataset-initializer@sha256:0") == unknown);
    CHECK(warned("{storageUri: 'gs://bucket/data'}", "example.com/own-initializer:1").empty());
    for (const char* known :
         {"{storageUri: 'hf://d'}", "{storageUri: 's3://d'}", "{storageUri: 'cache://d'}", "{storageUri: ''}",
          "{}", "{storageUri: 'HF://d'}", "{env: [{name: STORAGE_URI, value: 'S3://d'}]}",
          "{env: [{name: STORAGE_URI, valueFrom: {secretKeyRef: {name: s, key: k}}}]}"})
        CHECK(warned(known).empty());
    CHECK(warned("{storageUri: 'hf://d', env: [{name: STORAGE_URI, value: mine}]}") ==
          "spec.initializer.dataset.env: STORAGE_URI has no effect beside storageUri\n");
    for (const char* alone : {"{env: [{name: STORAGE_URI, value: 'gs://d'}]}",
                              "{storageUri: '', env: [{name: STORAGE_URI, value: 'GS://d'}]}"})
        CHECK(
            warned(alone) ==
            "spec.initializer.dataset.env: STORAGE_URI: the initializer knows hf://, s3://, cache:// and not "
            "gs://\n");
    CHECK(warned("{env: [{name: STORAGE_URI, value: mine}]}") ==
          "spec.initializer.dataset.env: STORAGE_URI: the initializer knows hf://, s3://, cache:// and not "
          "mine\n");
    CHECK(warned("{env: [{name: STORAGE_URI, value: 'gs://d'}]}", "example.com/own-initializer:1").empty());
}
