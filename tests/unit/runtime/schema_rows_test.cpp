// The rows of tests/data/rows with libs/crd, which has the results of a real API server
// (tests/cluster/admission/schemas/test_rows.py).
#include <set>

#include "crd/crd.hpp"
#include "rows.hpp"

#include "fixtures.hpp"

using api::Json;
using api::StatusCause;

namespace {

bool is_nameless(const StatusCause& error) { return error.field != error.place; }

// Returns each cause once, as tests of the API server's answer do: one without a field only if there is no
// other.
std::string described(const std::vector<StatusCause>& errors) {
    std::set<std::string> causes;
    const bool all_nameless = std::all_of(errors.begin(), errors.end(), is_nameless);
    for (const StatusCause& error : errors)
        if (all_nameless || !is_nameless(error)) causes.insert(error.reason + " " + error.place);
    std::string line;
    for (const std::string& cause : causes) line += (line.empty() ? "" : ", ") + cause;
    return line;
}

std::string messages(const std::vector<StatusCause>& errors) {
    std::string text;
    for (const StatusCause& error : errors) text += error.place + ": " + error.message + "\n";
    return text;
}

}  // namespace

TEST_CASE("libs/crd returns the errors of the API server", "[crd]") {
    for (const Row& row : all_rows()) {
        INFO(row.name);
        const crd::StructuralSchema& crd = *crd::find(row.sent["kind"].as_string());
        Json object = row.sent;
        crd.prune_and_default(object);
        const auto findings = crd.validate(object, row.old_object);
        INFO(messages(findings));
        CHECK(described(findings) == row.refused);
        if (!row.refused.empty()) CHECK(messages(findings).find(row.refused_because) != std::string::npos);
        for (const auto& [path, value] : row.stored) {
            INFO(path);
            CHECK(value_at(object, path) == value);
        }
    }
}

TEST_CASE("a TrainJob from before a limit can be changed elsewhere, and a list above the limit stays",
          "[crd]") {
    const crd::StructuralSchema& crd = *crd::find("TrainJob");
    Json before = train_job();
    at(before, "spec.runtimePatches") = tree("[{manager: a.io/x}, {manager: a.io/y}]");
    Json::Object::Members labels;
    for (int i = 0; i < 257; ++i) labels.push_back({"k" + std::to_string(i), "x"});
    const char* place = "spec.runtimePatches[1].trainingRuntimeSpec.template.metadata.labels";
    at(before, place) = Json::Object(std::move(labels));
    CHECK(described(crd.validate(before, Json())) == std::string("FieldValueTooMany ") + place);

    Json after = changed(before, {{"spec.suspend", "true"}, {"spec.runtimePatches[0].manager", "a.io/z"}});
    CHECK(described(crd.validate(after, before)).empty());
    at(after, place)["more"] = "x";
    CHECK(described(crd.validate(after, before)) == std::string("FieldValueTooMany ") + place);
}

TEST_CASE("patterns are those of RE2, and a broken one is refused", "[crd]") {
    struct Case {
        const char* pattern;
        const char* text;
        bool matches;
    };
    const Case cases[] = {
        {"^a.c$", "abc", true},
        {"^a.c$", "a\nc", false},
        {"^a$", "b\na", false},
        {"^a$", "a\n", false},
        {"b", "abc", true},
        {"^a\\.c$", "abc", false},
        {"^[.\n]$", ".", true},
        {"^[a.]+$", "ab", false},
        {"^(\\+|-)?[0-9]{1,2}$", "+12", true},
        {"^(\\+|-)?[0-9]{1,2}$", "+123", false},
        {"^$", "", true},
        {"^\\d$", "5", true},
        {"^\\d$", "a", false},
        {"^(?:ab)+?$", "abab", true},
        {"^[[:alpha:]]$", "a", true},
        {"^[[:alpha:]]$", "5", false},
    };
    for (const Case& c : cases) {
        INFO(c.pattern << " on " << c.text);
        const crd::StructuralSchema crd(Json::object({{"type", "string"}, {"pattern", c.pattern}}));
        CHECK(crd.validate(Json(c.text)).empty() == c.matches);
    }
    for (const char* pattern : {"(", "a\\", "[a", "a(?=b)", "(a)\\1"}) {
        INFO(pattern);
        CHECK_THROWS_AS(crd::StructuralSchema(Json::object({{"type", "string"}, {"pattern", pattern}})),
                        std::invalid_argument);
    }
}
