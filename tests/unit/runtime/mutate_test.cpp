#include "fixtures.hpp"
#include "runtime/admission.hpp"

using api::Json;

namespace {

const api::Time now = api::parse_time("2026-01-15T10:00:00Z").value();

Json job_with(const char* patches) { return changed(train_job(), {{"spec.runtimePatches", patches}}); }

// The operations as "op path value", one a line.
std::string text(const std::vector<Json>& operations) {
    std::string lines;
    for (const Json& operation : operations)
        lines += std::string(operation["op"].as_string()) + " " + std::string(operation["path"].as_string()) +
                 " " + std::string(operation["value"].as_string()) + "\n";
    return lines;
}

// What the server makes of them; enough for these paths.
Json applied(Json object, const std::vector<Json>& operations) {
    for (const Json& operation : operations) {
        Json& patches = object["spec"]["runtimePatches"];
        const auto index = std::stoul(std::string(operation["path"].as_string().substr(21)));
        if (operation["op"] == "remove")
            patches.items()[index].erase("time");
        else
            patches.items()[index]["time"] = operation["value"];
    }
    return object;
}

}  // namespace

TEST_CASE("patches are stamped when they change", "[admission]") {
    struct Case {
        const char* name;
        const char* before;  // nullptr: CREATE
        const char* after;
        const char* want;
    };
    const char* stamped = "add /spec/runtimePatches/0/time 2026-01-15T10:00:00Z\n";
    const char* old_time = "add /spec/runtimePatches/0/time 2020-01-01T00:00:00Z\n";
    const Case cases[] = {
        {"new", nullptr, "[{manager: a}]", stamped},
        {"new, with a time", nullptr, "[{manager: a, time: t}]", ""},
        {"only those without", nullptr, "[{manager: a, time: t}, {manager: b}]",
         "add /spec/runtimePatches/1/time 2026-01-15T10:00:00Z\n"},
        {"none", nullptr, "null", ""},
        {"the same again", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]", ""},
        {"the same without a time", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]", "[{manager: a}]",
         old_time},
        {"the same with another time", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, time: t}]", old_time},
        {"the same, which never had a time", "[{manager: a}]", "[{manager: a, time: t}]",
         "remove /spec/runtimePatches/0/time \n"},
        {"changed", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, time: \"2020-01-01T00:00:00Z\", trainingRuntimeSpec: {template: {metadata: {labels: "
         "{x: z}}}}}]",
         stamped},
        {"changed, with the user's time", "[{manager: a}]",
         "[{manager: a, time: t, trainingRuntimeSpec: {template: {metadata: {labels: {x: z}}}}}]", stamped},
        {"another manager", "[{manager: b, time: t}]", "[{manager: a}]", stamped},
        {"another manager with a time", "[{manager: b, time: t}]", "[{manager: a, time: u}]", ""},
        {"an empty list more is no change", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: []}}}}]", old_time},
        {"a quantity in other words is no change",
         "[{manager: a, time: \"2020-01-01T00:00:00Z\", trainingRuntimeSpec: {emptyDir: {sizeLimit: 2}}}]",
         "[{manager: a, trainingRuntimeSpec: {emptyDir: {sizeLimit: \"2\"}}}]", old_time},
        {"no list", nullptr, "foo", ""},
        {"no objects", nullptr, "[foo]", ""},
        {"no manager", nullptr, "[{}]", ""},
        {"one manager twice", nullptr, "[{manager: a}, {manager: a}]", ""},
        {"an odd old object", "foo", "[{manager: a}]", ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json before = c.before ? job_with(c.before) : Json();
            const Json after = job_with(c.after);
            const auto operations = runtime::mutate_train_job(after, before, now);
            CHECK(text(operations) == c.want);
            CHECK(runtime::mutate_train_job(applied(after, operations), before, now).empty());
        }
    }
    CHECK(runtime::mutate_train_job(Json("x"), Json(), now).empty());
    CHECK(runtime::mutate_train_job(Json(), Json(), now).empty());
}

TEST_CASE("more patches than the schema admits are left to it", "[admission]") {
    std::string patches = "[";
    for (int i = 0; i < 17; ++i) patches += "{manager: a.io/" + std::to_string(i) + "},";
    const Json job = job_with((patches + "]").c_str());
    CHECK(runtime::mutate_train_job(job, {}, now).empty());
}
