#include "build_rules.hpp"

#include <algorithm>
#include <iterator>

#include "random_observed.hpp"
#include "runtime/admission.hpp"
#include "runtime/build.hpp"
#include "runtime/snapshot.hpp"

namespace {

using api::Json;

// `data[...]` is of a Secret.
bool is_path(std::string_view field) {
    return field.starts_with("spec") || field.starts_with("metadata") || field.starts_with("data[");
}

// A refusal without what differs from input to input: paths, quoted names, numbers, what follows a colon.
std::string kind_of(const api::Error& error) {
    std::string_view text = error.message;
    if (const auto colon = text.find(": "); text.starts_with("trainingRuntimeSpec") && colon != text.npos)
        text.remove_prefix(colon + 2);
    std::string kind;
    bool quoted = false;
    for (const char c : text.substr(0, text.find(": "))) {
        const bool digit = c >= '0' && c <= '9';
        if (!quoted && !digit) kind += c;
        if (digit && !kind.ends_with('#')) kind += '#';
        if (c == '"') quoted = !quoted;
    }
    return kind;
}

void add(std::vector<Json>& observed, std::vector<Json> more) {
    observed.insert(observed.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
}

std::string check_reviews(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values) {
    std::vector<Json> observed;
    for (const runtime::Need& need : runtime::review_needs(input.runtime, pipeline))
        add(observed, make_observed(values, need));
    for (const runtime::Findings& findings : {runtime::review_train_job({.object = input.job,
                                             .old_object = Json(),
                                             .runtime = &input.runtime,
                                             .observed = values.maybe(80) ? &observed : nullptr},
                                                                        pipeline),
                                              runtime::review_runtime(input.runtime, Json(), pipeline)})
        for (const api::FieldError& error : findings.errors)
            if (!is_path(error.field))
                return "an admission error without a path: " + error.field + ": " + error.detail;
    return {};
}

// Asks until nothing new is asked for. Claims name device classes, and that is as far as it goes.
std::string observe(const api::TrainJob& job, const Json& live, const runtime::Pipeline& pipeline,
                    SchemaValues& values, std::vector<Json>& observed, runtime::Needs& needs) {
    std::vector<runtime::Need> asked;
    for (int round = 0; round < 4; ++round) {
        needs = runtime::needs(job, live, observed, pipeline);
        const std::size_t before = asked.size();
        for (const runtime::Need& need : needs.objects) {
            if (std::find(asked.begin(), asked.end(), need) != asked.end()) continue;
            asked.push_back(need);
            add(observed, make_observed(values, need));
        }
        if (asked.size() == before) return {};
    }
    return "what it needs never ends";
}

bool has_null(const Json& tree) {
    const auto in_member = [](const auto& member) { return has_null(member.value); };
    return tree.is_null() || std::any_of(tree.items().begin(), tree.items().end(), has_null) ||
           std::any_of(tree.members().begin(), tree.members().end(), in_member);
}

std::string check_object(const api::TrainJob& job, const Json& object) {
    const Json& metadata = object["metadata"];
    if (object["kind"].as_string().empty() || metadata["name"].as_string().empty() ||
        metadata["namespace"].as_string() != job.meta.ns)
        return "an object without kind, name or namespace: " + to_json(object);
    if (metadata["ownerReferences"] != Json::array({api::controller_reference(job.meta)}))
        return "an object that nobody collects: " + to_json(object);
    if (has_null(object)) return "an object with a null: " + to_json(object);
    return {};
}

// Keys that exist are never made again: whoever has read them would be left with the old ones.
std::string check_keys(const runtime::Needs& needs, const std::vector<Json>& observed,
                       const runtime::Built& built) {
    for (const runtime::Need& need : needs.objects) {
        if (need.ours != runtime::Applied::once || !runtime::find_observed(observed, need)) continue;
        for (const runtime::BuiltObject& each : built.objects)
            if (each.object["kind"].as_string() == need.kind &&
                each.object["metadata"]["name"].as_string() == need.key.name)
                return "a " + need.kind + " that exists is made again";
    }
    return {};
}

std::string check_refusal(const api::Error& error) {
    if (error.code != api::Errc::invalid) return "an error that is not `invalid`: " + describe(error);
    if (!is_path(error.field)) return "an error without a path: " + describe(error);
    return error.message.empty() ? "an error without a message" : "";
}

std::string check_outcome(const Input& input, const api::TrainJob& job, const runtime::Built& built,
                          const runtime::Built& again) {
    if (built.objects.empty() || built.objects.back().object["kind"].as_string() != "JobSet")
        return "the JobSet is not the last object";
    std::size_t size = 0;
    for (std::size_t i = 0; i < built.objects.size(); ++i) {
        if (auto broken = check_object(job, built.objects[i].object); !broken.empty()) return broken;
        const std::string text = to_json(built.objects[i].object);
        if (text != to_json(again.objects[i].object)) return "two builds differ";
        size += text.size();
    }
    for (const runtime::Notice& notice : built.notices)
        if (notice.reason.empty() || notice.note.empty()) return "a notice without a word";
    // A host file of MPI grows with the number of nodes, up to what a ConfigMap takes.
    constexpr std::size_t host_file = 1 << 20;
    if (size > 10 * (to_json(input.job).size() + to_json(input.runtime).size()) + host_file + 100'000)
        return "the outcome is huge";
    return {};
}

}  // namespace

std::string broken_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                        Tally& tally) {
    if (auto broken = check_reviews(input, pipeline, values); !broken.empty()) return broken;

    const api::TrainJob job = api::parse_train_job(input.job);
    runtime::Inputs inputs = {.job = job, .runtime = input.runtime};
    runtime::Needs needs;
    if (auto broken = observe(job, input.runtime, pipeline, values, inputs.observed, needs); !broken.empty())
        return broken;
    for (const Json& object : inputs.observed) ++tally.observed[std::string(object["kind"].as_string())];
    if (needs.ssh_key_pair) inputs.ssh_key_pair.emplace();
    if (needs.curve_key_pair) inputs.curve_key_pair.emplace();

    const auto built = runtime::build(inputs, pipeline);
    if (!built) {
        ++tally.refused[kind_of(built.error())];
        return check_refusal(built.error());
    }
    ++tally.built;
    if (auto broken = check_keys(needs, inputs.observed, *built); !broken.empty()) return broken;
    std::reverse(inputs.observed.begin(), inputs.observed.end());  // nothing depends on the order
    const auto again = runtime::build(inputs, pipeline);
    if (!again || again->objects.size() != built->objects.size()) return "built once, but not twice";
    if (auto broken = check_outcome(input, job, *built, *again); !broken.empty()) return broken;

    const auto stored = runtime::read_snapshot(runtime::make_snapshot(job, input.runtime), job);
    if (!stored || !(*stored == input.runtime)) return "the snapshot is not the runtime";
    return {};
}
