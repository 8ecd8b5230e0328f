#include <catch2/catch.hpp>

#include "admission/routes.hpp"
#include "admission_case.hpp"
#include "reviews.hpp"
#include "support/golden.hpp"
#include "support/printers.hpp"

TEST_CASE("reviews have the answers of want.json", "[golden]") {
    for (const AdmissionCase& c : all_admission_cases()) {
        DYNAMIC_SECTION(c.name) {
            const auto file = c.folder / "want.json";
            api::Json answer = answer_to(c);
            // The schema's errors are written by hand:
            // tests/cluster/admission/schemas/test_admission_cases.py compares them with an API server.
            if (const auto want = api::parse_json(golden::read(file)); want && want->contains("crd"))
                answer["crd"] = std::as_const(*want)["crd"];
            golden::check(file, answer);
        }
    }
}

TEST_CASE("a verdict does not depend on what is not read for it", "[golden]") {
    const admission::ReviewInputs inputs;
    const admission::ReviewPolicy policy;
    const admission::ReviewContext context = {
        .inputs = inputs, .now = {}, .pipeline = runtime::default_pipeline(), .policy = policy};
    std::size_t shorter = 0;
    for (const AdmissionCase& c : all_admission_cases()) {
        if (c.operation != "CREATE" || c.object["kind"].as_string() != "TrainJob") continue;
        const std::string body = to_json(test::review(c.operation, c.object, {}));
        const admission::Route* route = admission::find_route(test::mutate_path);
        const admission::Review whole = {.request = api::decode_admission_review(body).value()};
        const admission::Review brief = {
            .request = api::decode_admission_review(body, route->unread_on_create).value()};
        shorter += to_json(brief.request.object).size() < to_json(whole.request.object).size() ? 1 : 0;
        INFO(c.name);
        CHECK(route->judge(brief, context).patch == route->judge(whole, context).patch);
    }
    CHECK(shorter > 10);
}
