// The maximum lengths of lists and maps of a TrainJob, and which items must be unique.
#include "template/limits.hpp"

#include <fstream>
#include <iterator>
#include <map>

#include "runtime/validation.hpp"

#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* jobs = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs";

struct Expected {
    std::int64_t most = 0;
    std::string key = {};

    bool operator==(const Expected&) const = default;
};
using Table = std::map<std::string, Expected>;

std::ostream& operator<<(std::ostream& out, const Expected& expected) {
    return out << expected.most << " by " << expected.key;
}

// The highest limit of those with the same name.
void collect(const Json& schema, const std::string& name, Table& table) {
    const bool is_list = schema["items"].is_object();
    if (is_list || schema["additionalProperties"].is_object()) {
        Expected& expected = table[name];
        expected.most =
            std::max(expected.most, schema[is_list ? "maxItems" : "maxProperties"].int_or(1'000'000'000));
        if (const auto& keys = schema["x-kubernetes-list-map-keys"].items(); !keys.empty())
            expected.key = keys[0].as_string();
    }
    if (is_list) collect(schema["items"], name, table);
    for (const auto& [member, property] : schema["properties"].members()) collect(property, member, table);
}

Json train_job_schema() {
    std::ifstream file(SIGNALBOX_CRDS "/trainjobs.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json crd = api::parse_yaml(text).value();
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
}

Json job_with(const char* place, const Json& value) {
    Json job = train_job();
    at(job, "spec.runtimePatches") = tree("[{manager: a.io/x}]");
    at(job, place) = value;
    return job;
}

Json map_of(int size) {
    Json::Object::Members members;
    for (int i = 0; i < size; ++i) members.push_back({"k" + std::to_string(i), "x"});
    return Json::Object(std::move(members));
}

Json list_of(int size) {
    Json list = Json::array();
    for (int i = 0; i < size; ++i) list.push_back(Json::object({{"name", "k" + std::to_string(i)}}));
    return list;
}

api::FieldErrors errors_of(const Json& job, const Json& before = {}) {
    const Json runtime = plain_runtime();
    return runtime::validate_train_job({.object = job, .old_object = before, .runtime = &runtime}).errors;
}

}  // namespace

TEST_CASE("the limits of a TrainJob are those of its schema", "[admission]") {
    Table schema, ours;
    collect(train_job_schema(), "", schema);
    std::string_view before;
    for (const runtime::Limit& limit : runtime::train_job_limits()) {
        CHECK(before < limit.name);
        before = limit.name;
        ours[std::string(limit.name)] = {static_cast<std::int64_t>(limit.most), std::string(limit.key)};
    }
    CHECK(ours == schema);
}

TEST_CASE("for a list or map that is too long, or a repeated key, that is the only error", "[admission]") {
    struct Case {
        const char* name;
        std::string place;
        Json value;
        std::string field;
        const char* detail;
    };
    const std::string node = std::string(jobs) + "[0]";
    const Json two = tree("[{name: node}, {name: other}, {name: node}]");
    const char* const once = "repeats the name of an earlier item: each may be there once";
    const Case cases[] = {
        {"variables", "spec.trainer.env", list_of(129), "spec.trainer.env", "must have at most 128 items"},
        {"labels", node + ".template.metadata.labels", map_of(257), node + ".template.metadata.labels",
         "must have at most 256 entries"},
        {"one job twice", jobs, two, std::string(jobs) + "[2]", once},
        {"one variable twice", "spec.trainer.env", two, "spec.trainer.env[2]", once},
        {"one manager twice", "spec.runtimePatches", tree("[{manager: a.io/x}, {manager: a.io/x}]"),
         "spec.runtimePatches[1]", "repeats the manager of an earlier item: each may be there once"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = job_with(c.place.c_str(), c.value);
            CHECK(runtime::lookups_for(job, Json()) == runtime::RequiredInputs());
            const auto errors = errors_of(job);
            REQUIRE(errors.size() == 1);
            CHECK(errors[0].field == c.field);
            CHECK(errors[0].detail == c.detail);
            CHECK(errors[0].rule == "malformed");
        }
    }
    CHECK(errors_of(job_with("spec.trainer.env", list_of(128))).empty());
}

TEST_CASE("a list that was too long before an update is validated by the other rules", "[admission]") {
    const Json before = job_with("spec.trainer.env", list_of(129));
    const Json after = changed(before, {{"spec.trainer.image", "newer"}});
    const auto errors = errors_of(after, before);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].rule == "immutable_after_creation");
    CHECK(runtime::lookups_for(after, before).runtime);
    CHECK(errors_of(after, train_job()).size() == 1);
}

TEST_CASE("a job that Kueue's patch names again gets its tolerations once", "[runtime]") {
    Json runtime = plain_runtime();
    at(runtime, "spec.template.spec.replicatedJobs[0].template.spec.template.spec.tolerations") =
        tree("[{key: own}]");
    Json items = Json::array();
    for (const char* key : {"first", "last"})
        items.push_back(tree("{name: node, template: {spec: {template: {spec: {tolerations: [{key: " +
                             std::string(key) + "}]}}}}}"));
    Json job = job_with(jobs, items);
    at(job, "spec.runtimePatches[0].manager") = "kueue.x-k8s.io/manager";
    const auto built = build_job_set(job, runtime);
    REQUIRE(built);
    CHECK((*built)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["tolerations"] ==
          tree("[{key: own}, {key: last}]"));
}
