// For tests in other languages. Without an argument: reads lines, each a JSON list of a Pod's spec and a
// patch of it, and answers each with a line: the merged spec, or {"error": ...}. With the argument `schema`:
// prints the table of merge keys as JSON. With the argument `equivalent`: answers each line, a list of two
// trees, with whether they are equivalent.
#include <iostream>
#include <string>

#include "api/json.hpp"
#include "merge/strategic_merge.hpp"
#include "runtime/compare.hpp"

namespace {

using api::Json;

std::string_view to_string(merge::Strategy strategy) {
    switch (strategy) {
        case merge::Strategy::deep: return "deep";
        case merge::Strategy::by_key: return "by_key";
        case merge::Strategy::as_set: return "as_set";
        case merge::Strategy::literal_map: return "literal_map";
        case merge::Strategy::keep_zero: return "keep_zero";
    }
    return {};
}

// {field: {strategy, key, fields: {...}}}
Json to_tree(const merge::Type& type) {
    Json fields = Json::object();
    for (const merge::Field& field : type.fields) {
        Json& entry = fields[field.name];
        entry["strategy"] = to_string(field.strategy);
        if (!field.key.empty()) entry["key"] = field.key;
        if (field.type) entry["fields"] = to_tree(*field.type);
    }
    return fields;
}

Json job_set_with(const Json& pod_spec) {
    const Json pod = Json::object({{"spec", pod_spec}});
    const Json job = Json::object({{"spec", Json::object({{"template", pod}})}});
    return Json::object(
        {{"replicatedJobs", Json::array({Json::object({{"name", "node"}, {"template", job}})})}});
}

Json answer(std::string_view line) {
    const auto pair = api::parse_json(line);
    if (!pair) return Json::object({{"error", describe(pair.error())}});
    const Json &base = (*pair)[0], &patch = (*pair)[1];
    const auto merged =
        merge::strategic_merge(job_set_with(base), job_set_with(patch), merge::job_set_spec());
    if (!merged) return Json::object({{"error", describe(merged.error())}});
    return std::as_const(*merged)["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
}

Json is_equivalent(std::string_view line) {
    const Json pair = api::parse_json(line).value();
    return Json(runtime::is_equivalent(pair[0], pair[1]));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "schema") {
        std::cout << to_json(to_tree(merge::job_set_spec())) << '\n';
        return 0;
    }
    std::string line;
    while (std::getline(std::cin, line))
        std::cout << to_json(what == "equivalent" ? is_equivalent(line) : answer(line)) << '\n';
}
