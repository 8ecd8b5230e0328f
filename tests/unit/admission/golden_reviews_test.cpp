#include <catch2/catch.hpp>

#include "admission_case.hpp"
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
