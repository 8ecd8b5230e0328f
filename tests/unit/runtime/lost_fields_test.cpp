#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

using Texts = std::vector<std::string>;

TEST_CASE("there is a warning for fields that a client has lost", "[admission]") {
    const auto job = [](const char* pod_spec) {
        return changed(train_job(),
                       {{"spec.suspend", "true"},
                        {"spec.runtimePatches",
                         (std::string("[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: "
                                      "{replicatedJobs: [{name: node, template: {spec: {template: "
                                      "{spec: ") +
                          pod_spec + "}}}}]}}}}]")
                             .c_str()}});
    };
    const Json runtime = plain_runtime();
    const auto found = [&](const Json& before, const Json& after) {
        Texts texts;
        for (const auto& [text, rule] :
             runtime::validate_train_job({.object = after, .old_object = before, .runtime = &runtime})
                 .warnings) {
            CHECK(rule == "lost_fields");
            texts.push_back(text);
        }
        return texts;
    };
    const char* const claims = "{resourceClaims: [{name: c, resourceClaimName: x}]}";
    CHECK(found(job(claims), job("{}")) == Texts{"spec.runtimePatches[0] loses resourceClaims: if the client "
                                                 "does not know that field, put it into "
                                                 "--lossy-clients"});
    CHECK(found(job(claims), job("{nodeSelector: {a: b}}")) == Texts());
    CHECK(found(job("{nodeSelector: {a: b}}"), job("{}")) == Texts());
}
