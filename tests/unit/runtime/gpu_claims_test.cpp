// How GPUs behind resource claims are counted, and how frameworks use the number.
#include "gpu_claims.hpp"

TEST_CASE("each request of a claim counts as the number of its devices", "[claims]") {
    struct Case {
        const char* name;
        const char* requests;
        std::string want;
    };
    const Case cases[] = {
        {"a number", "[{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]", "4"},
        {"ExactCount says the same",
         "[{name: a, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: ExactCount, count: 4}}]",
         "4"},
        {"no number is one", "[{name: a, exactly: {deviceClassName: gpu.nvidia.com}}]", "1"},
        {"zero is one", "[{name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 0}}]", "1"},
        {"the class's name in any case", "[{name: a, exactly: {deviceClassName: GPU.example, count: 3}}]",
         "3"},
        {"a class that stands for an extended resource of GPUs",
         "[{name: a, exactly: {deviceClassName: accelerator, count: 2}}]", "2"},
        {"other devices", "[{name: a, exactly: {deviceClassName: nic, count: 2}}]", "1"},
        {"parts of GPUs", "[{name: a, exactly: {deviceClassName: mig.nvidia.com, count: 2}}]", "1"},
        {"parts of GPUs beside GPUs",
         "[{name: a, exactly: {deviceClassName: mig.nvidia.com}}, {name: b, exactly: {deviceClassName: gpu, "
         "count: "
         "2}}]",
         "2"},
        {"a request with GPUs in its name", "[{name: my-GPUs, exactly: {deviceClassName: other, count: 3}}]",
         "3"},
        {"which counts once", "[{name: gpus, exactly: {deviceClassName: gpu, count: 3}}]", "3"},
        {"several requests",
         "[{name: a, exactly: {deviceClassName: gpu, count: 2}}, {name: b, exactly: {deviceClassName: nic}}, "
         "{name: c, exactly: {deviceClassName: gpu}}]",
         "3"},
        {"monitoring counts nothing",
         "[{name: a, exactly: {deviceClassName: gpu, adminAccess: true, allocationMode: All}}, {name: b, "
         "exactly: "
         "{deviceClassName: gpu, count: 2}}]",
         "2"},
        {"all of a node's", "[{name: a, exactly: {deviceClassName: gpu, allocationMode: All}}]",
         unknown("allocation mode All does not tell how many devices there are")},
        {"all of other devices", "[{name: a, exactly: {deviceClassName: nic, allocationMode: All}}]", "1"},
        {"a mode of later versions", "[{name: a, exactly: {deviceClassName: gpu, allocationMode: Half}}]",
         unknown("allocation mode Half does not tell how many devices there are")},
        {"one unknown makes the sum unknown",
         "[{name: a, exactly: {deviceClassName: gpu, count: 2}}, {name: b, exactly: {deviceClassName: gpu, "
         "allocationMode: All}}]",
         unknown("allocation mode All does not tell how many devices there are")},
        {"alternatives of one size",
         "[{name: a, firstAvailable: [{name: x, deviceClassName: gpu, count: 2}, {name: z, deviceClassName: "
         "accelerator, count: 2}]}]",
         "2"},
        {"alternatives of different sizes",
         "[{name: a, firstAvailable: [{name: x, deviceClassName: gpu, count: 2}, {name: z, deviceClassName: "
         "gpu}]}]",
         unknown("the alternatives of request \"a\" are of different sizes")},
        {"an alternative without GPUs",
         "[{name: a, firstAvailable: [{name: x, deviceClassName: gpu}, {name: z, deviceClassName: nic}]}]",
         unknown("the alternatives of request \"a\" are of different sizes")},
        {"a request of later versions", "[{name: a, somehow: {}}]",
         unknown("request \"a\" is of a kind that is not known here")},
        {"a class that cannot be had", "[{name: a, exactly: {deviceClassName: other}}]",
         unknown("DeviceClass \"other\" does not exist or cannot be read")},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(counted(runtime_with_claim("xgboost"), {claim_template(c.requests)}) == c.want);
        }
}

TEST_CASE("only the requests that the container uses count, each once", "[claims]") {
    const Json object = claim_template(
        "[{name: a, exactly: {deviceClassName: gpu, count: 2}}, {name: b, exactly: {deviceClassName: gpu, "
        "count: "
        "3}}]");
    struct Case {
        const char* references;
        const char* want;
    };
    for (const Case& c : {Case{"[{name: gpus}]", "5"}, Case{"[{name: gpus, request: \"\"}]", "5"},
                          Case{"[{name: gpus, request: b}]", "3"}, Case{"[{name: gpus, request: c}]", "1"},
                          Case{"[{name: gpus}, {name: gpus, request: b}]", "5"}}) {
        CAPTURE(c.references);
        CHECK(counted(runtime_with_claim("xgboost", "{resourceClaimTemplateName: gpus}", c.references),
                      {object}) == c.want);
    }
}

TEST_CASE("an allocated claim counts as its allocated devices", "[claims]") {
    struct Case {
        const char* name;
        const char* requests;
        const char* results;
        std::string want;
    };
    const char* const all = "[{name: a, exactly: {deviceClassName: gpu, allocationMode: All}}]";
    const Case cases[] = {
        {"not yet allocated: as asked for", "[{name: a, exactly: {deviceClassName: gpu, count: 2}}]", "",
         "2"},
        {"not yet allocated and all wanted", all, "",
         unknown("allocation mode All does not tell how many devices there are")},
        {"all wanted", all, "[{request: a, device: g0}, {request: a, device: g1}, {request: a, device: g2}]",
         "3"},
        {"an alternative",
         "[{name: a, firstAvailable: [{name: x, deviceClassName: gpu, count: 2}, {name: z, deviceClassName: "
         "gpu}]}]",
         "[{request: a/x}, {request: a/x}]", "2"},
        {"an alternative without GPUs",
         "[{name: a, firstAvailable: [{name: x, deviceClassName: gpu}, {name: z, deviceClassName: nic}]}]",
         "[{request: a/z}, {request: a/z}]", "1"},
        {"other requests' devices", "[{name: a, exactly: {deviceClassName: gpu}}]",
         "[{request: a}, {request: b}, {request: ab}]", "1"},
        {"monitoring", "[{name: a, exactly: {deviceClassName: gpu, adminAccess: true}}]",
         "[{request: a}, {request: a}]", "1"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(counted(runtime_with_claim("xgboost", "{resourceClaimName: gpus}"),
                          {claim(c.requests, c.results)}) == c.want);
        }
}

TEST_CASE("if a claim cannot be read the number is unknown", "[claims]") {
    CHECK(counted(runtime_with_claim("xgboost"), {}) ==
          unknown("ResourceClaimTemplate \"gpus\" does not exist or cannot be read"));
    CHECK(counted(runtime_with_claim("xgboost", "{resourceClaimName: gpus}"), {}) ==
          unknown("ResourceClaim \"gpus\" does not exist or cannot be read"));
}

TEST_CASE("resources of a class of devices are GPUs if its extended resource is", "[claims]") {
    const auto counted_class = [](const char* name, Objects observed) {
        Json runtime = runtime_with("xgboost");
        at(runtime, pod)["containers"]
            .items()[0]["resources"]["limits"][std::string("deviceclass.resource.kubernetes.io/") + name] = 4;
        return counted(runtime, std::move(observed));
    };
    CHECK(counted_class("accelerator", {}) == "4");
    CHECK(counted_class("gpu.example.com", {}) == "4");
    CHECK(counted_class("nic", {}) == "1");
    CHECK(counted_class("mig.nvidia.com", {}) == "1");
    CHECK(counted_class("other", {}) ==
          "1 GPUCountUnknown: devices of a Pod cannot be counted: resources of class \"other\": DeviceClass "
          "\"other\" does not exist or cannot be read");
    Json runtime = runtime_with("xgboost");
    at(runtime, pod)["containers"]
        .items()[0]["resources"]["limits"]["deviceclass.resource.kubernetes.io/other"] = 4;
    const auto needed = runtime::needs(api::parse_train_job(train_job()), runtime).objects;
    REQUIRE(needed.size() == 1);
    CHECK(needed.front().key.name == "other");
}

TEST_CASE("claims of Pods with a scheduling group are unknown, since Pods may share them", "[claims]") {
    Json runtime = runtime_with_claim("xgboost");
    at(runtime, pod)["schedulingGroup"] = tree("{podGroupName: a}");
    CHECK(counted(runtime, {claim_template("[{name: a, exactly: {deviceClassName: gpu, count: 2}}]")}) ==
          unknown("Pods of a schedulingGroup may share its devices"));
}

TEST_CASE("a process sees one part of a GPU, and drives all TPUs of its Pod", "[claims]") {
    const auto with = [](const char* name) {
        Json runtime = runtime_with("torch");
        at(runtime, pod)["containers"].items()[0]["resources"]["limits"] =
            Json::object({{name, 2}, {"cpu", 8}});
        return processes(runtime, {});
    };
    CHECK(with("nvidia.com/mig-1g.5gb") == "auto");
    CHECK(with("google.com/tpu") == "1");
    CHECK(with("example.com/nic") == "8");
}

TEST_CASE("resourceClaimsPerNode claims for the Pods that get resourcesPerNode", "[claims]") {
    Json job = train_job();
    job["spec"]["trainer"]["resourceClaimsPerNode"] =
        tree("[{name: gpus, resourceClaimTemplateName: own}, {name: nics, resourceClaimTemplateName: nics}]");
    const auto built_from = [](const Json& object, const Json& runtime) {
        const api::TrainJob parsed = api::parse_train_job(object);
        const auto built = runtime::build({.job = parsed, .runtime = runtime});
        REQUIRE(built);
        Json job_set = built->objects.back().object;
        return at(job_set, std::string_view(pod).substr(std::string_view("spec.template.").size()));
    };
    // A claim of that name has another source, and the container's own request of it stays.
    const Json made = built_from(
        job, runtime_with_claim("torch", "{resourceClaimName: shared}", "[{name: gpus, request: a}]"));
    CHECK(
        to_json(made["resourceClaims"]) ==
        R"([{"name":"gpus","resourceClaimTemplateName":"own"},{"name":"nics","resourceClaimTemplateName":"nics"}])");
    CHECK(to_json(made["containers"][std::size_t{0}]["resources"]["claims"]) ==
          R"([{"name":"gpus","request":"a"},{"name":"nics"}])");
    // It takes precedence over patches, too.
    job["spec"]["runtimePatches"] = tree(
        "[{manager: test.io/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
        "template: "
        "{spec: {template: {spec: {resourceClaims: [{name: gpus, resourceClaimName: patched}]}}}}}]}}}}]");
    CHECK(to_json(built_from(job, runtime_with("torch"))["resourceClaims"]).find("patched") ==
          std::string::npos);
    // Without a policy nothing gets them.
    CHECK_FALSE(built_from(train_job(), runtime_with("torch")).contains("resourceClaims"));
    // They are counted.
    Json counted_job = train_job();
    counted_job["spec"]["trainer"]["resourceClaimsPerNode"] =
        tree("[{name: a, resourceClaimTemplateName: gpus}]");
    CHECK(counted(runtime_with("xgboost"),
                  {claim_template("[{name: b, exactly: {deviceClassName: gpu, count: 4}}]")},
                  counted_job) == "4");
}

TEST_CASE("GPUs in plain resources take precedence over those behind claims", "[claims]") {
    Json runtime = runtime_with_claim("xgboost");
    at(runtime, pod)["containers"].items()[0]["resources"]["limits"]["nvidia.com/gpu"] = 8;
    CHECK(counted(runtime, {claim_template("[{name: a, exactly: {deviceClassName: gpu, count: 2}}]")}) ==
          "8");
    CHECK(runtime::needs(api::parse_train_job(train_job()), runtime).objects.empty());
}

TEST_CASE("torch counts processes itself if the number behind claims is unknown", "[claims]") {
    const char* const gpus = "[{name: a, exactly: {deviceClassName: gpu}}]";
    const char* const nics = "[{name: a, exactly: {deviceClassName: nic}}]";
    Json runtime = runtime_with_claim("torch");
    at(runtime, pod)["containers"].items()[0]["resources"]["limits"]["cpu"] = 3;
    Objects others = classes;
    others.push_back(claim_template(nics));
    CHECK(processes(runtime, {claim_template(gpus)}) == "auto");
    CHECK(processes(runtime, {}) == "auto");
    CHECK(processes(runtime, others) == "3");
}

TEST_CASE("torchtune takes an unknown number for several GPUs, unless it is configured to run one process",
          "[claims]") {
    Json job = train_job();
    job["spec"]["trainer"]["command"] = tree("[tune, run]");
    const auto recipe = [&](const Objects& observed) {
        const api::TrainJob parsed = api::parse_train_job(job);
        const Json runtime = runtime_with_claim("torch");
        const auto built = runtime::build({.job = parsed, .runtime = runtime, .observed = observed});
        REQUIRE(built);
        std::string text;
        for (const Json& word : node_container(built->objects.back().object)["command"].items())
            text += std::string(word.as_string()) + " ";
        return text;
    };
    CHECK(recipe({}).find("full_finetune_distributed") != std::string::npos);
    CHECK(recipe({}).find("--rdzv_endpoint") != std::string::npos);
    const Objects one = {claim_template("[{name: a, exactly: {deviceClassName: gpu}}]")};
    CHECK(recipe(one).find("full_finetune_single_device") != std::string::npos);
    job["spec"]["trainer"]["numProcPerNode"] = 1;
    CHECK(recipe({}).find("full_finetune_single_device") != std::string::npos);
}

TEST_CASE("MPI and Flux use the GPUs behind claims, and none if the number is unknown", "[claims]") {
    const Objects two = {claim_template("[{name: a, exactly: {deviceClassName: gpu, count: 2}}]")};
    const auto outcome = [](const Json& runtime, const Objects& observed) {
        const api::TrainJob parsed = api::parse_train_job(train_job());
        const auto built = runtime::build({.job = parsed, .runtime = runtime, .observed = observed});
        REQUIRE(built);
        std::string text;
        for (const runtime::BuiltObject& each : built->objects) {
            text += std::string(each.object["data"]["hostfile"].as_string());
            const std::string script(each.object["data"]["entrypoint.sh"].as_string());
            if (!script.empty()) text += script.find("--gpu") == script.npos ? "no GPUs\n" : "GPUs\n";
        }
        for (const runtime::BuildWarning& notice : built->warnings) text += notice.reason;
        return text;
    };
    CHECK(outcome(runtime_with_claim("mpi"), two) == "job-node-0-0.job slots=2\n");
    CHECK(outcome(runtime_with_claim("mpi"), {}) == "job-node-0-0.job slots=1\nGPUCountUnknown");
    CHECK(outcome(runtime_with_claim("flux"), two) == "GPUs\n");
    CHECK(outcome(runtime_with_claim("flux"), {}) == "no GPUs\nGPUCountUnknown");
}

TEST_CASE("GPUs are unknown if resourcesPerNode uses a claim of another job", "[claims]") {
    Json runtime = changed(runtime_with("mpi"), {{"spec.mlPolicy.mpi.runLauncherAsNode", "false"}});
    Json& jobs = at(runtime, "spec.template.spec.replicatedJobs");
    Json launcher = std::as_const(jobs)[0];
    Json node = launcher;
    launcher["name"] = "launcher";
    node["template"]["metadata"].erase("labels");
    launcher["template"]["spec"]["template"]["spec"]["resourceClaims"] =
        tree("[{name: gpus, resourceClaimTemplateName: gpus}]");
    const Json job = changed(train_job(), {{"spec.trainer.resourcesPerNode", "{claims: [{name: gpus}]}"}});
    const api::TrainJob parsed = api::parse_train_job(job);
    for (const bool node_first : {true, false}) {
        DYNAMIC_SECTION("the node comes " << (node_first ? "first" : "second")) {
            jobs = node_first ? Json::array({node, launcher}) : Json::array({launcher, node});
            const auto built = runtime::build(
                {.job = parsed,
                 .runtime = runtime,
                 .observed = {claim_template("[{name: a, exactly: {deviceClassName: gpu}}]")}});
            REQUIRE(built);
            std::string notes;
            for (const runtime::BuildWarning& notice : built->warnings) notes += notice.note;
            CHECK(notes == (node_first
                                ? "devices of a Pod cannot be counted: claim \"gpus\": their Pod has no such "
                                  "claim"
                                : ""));
        }
    }
}

TEST_CASE("devices that a gang shares are divided among its nodes", "[claims]") {
    const auto shared = [](int devices, int nodes) {
        Json runtime = runtime_with_claim("xgboost");
        runtime["spec"]["mlPolicy"]["numNodes"] = nodes;
        runtime["spec"]["podGroupPolicy"]["kubernetes"]["resourceClaims"] =
            tree("[{name: gpus, resourceClaimTemplateName: gpus}]");
        const std::string requests =
            "[{name: a, exactly: {deviceClassName: gpu, count: " + std::to_string(devices) + "}}]";
        return counted(runtime, {claim_template(requests.c_str())});
    };
    CHECK(shared(8, 1) == "8");
    CHECK(shared(8, 2) == "8");  // four workers on each of two nodes
    CHECK(shared(8, 4) == "8");
    CHECK(
        shared(8, 3) ==
        "3 GPUCountUnknown: devices of a Pod cannot be counted: the 8 devices of the gang's claims cannot be "
        "divided evenly among 3 Pods");
}
