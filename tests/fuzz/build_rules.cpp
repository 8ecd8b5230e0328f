#include "build_rules.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "random_observed.hpp"
#include "review_rules.hpp"
#include "runtime/build.hpp"
#include "runtime/snapshot.hpp"
#include "work.hpp"

namespace {

using api::Json;

// Returns an error without the parts that differ between inputs: paths, quoted names, numbers, text after a
// colon.
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

// Repeats the build's requests until there are no new ones. Claims name device classes, so there are two
// rounds.
std::string observe(const api::TrainJob& job, const Json& live, const runtime::Pipeline& pipeline,
                    SchemaValues& values, std::vector<Json>& observed, runtime::Needs& needs) {
    std::set<std::tuple<std::string, std::string, api::ObjectKey>> asked;
    for (int round = 0; round < 4; ++round) {
        needs = runtime::needs(job, live, observed, pipeline);
        const std::size_t before = asked.size();
        for (const runtime::Need& need : needs.objects) {
            if (!asked.emplace(api_version(need.resource), std::string(need.resource.kind), need.key).second)
                continue;
            add_all(observed, make_observed(values, need));
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
        return "an object without an owner, which is never deleted: " + to_json(object);
    if (has_null(object)) return "an object with a null: " + to_json(object);
    return {};
}

// Existing keys are never generated again: programs that have read them would keep the old ones.
std::string check_keys(const runtime::Needs& needs, const std::vector<Json>& observed,
                       const runtime::Built& built) {
    for (const runtime::Need& need : needs.objects) {
        if (need.apply != runtime::ApplyPolicy::once || !runtime::find_observed(observed, need)) continue;
        for (const runtime::BuiltObject& each : built.objects)
            if (is_of(need.resource, each.object) &&
                each.object["metadata"]["name"].as_string() == need.key.name)
                return "a " + std::string(need.resource.kind) + " that exists is made again";
    }
    return {};
}

std::string check_refusal(const api::Error& error) {
    if (error.code != api::Errc::invalid) return "an error that is not `invalid`: " + describe(error);
    if (!is_path(error.field)) return "an error without a path: " + describe(error);
    return error.message.empty() ? "an error without a message" : "";
}

std::string check_outcome(const api::TrainJob& job, const runtime::Built& built,
                          const runtime::Built& again) {
    if (built.objects.empty() || built.objects.back().object["kind"].as_string() != "JobSet")
        return "the JobSet is not the last object";
    for (std::size_t i = 0; i < built.objects.size(); ++i) {
        if (auto broken = check_object(job, built.objects[i].object); !broken.empty()) return broken;
        const std::string text = to_json(built.objects[i].object);
        if (text != to_json(again.objects[i].object)) return "two builds differ";
    }
    for (const runtime::BuildWarning& notice : built.warnings)
        if (notice.reason.empty() || notice.note.empty()) return "a notice without a word";
    return {};
}

std::uint64_t weight_of_all(const std::vector<Json>& objects) {
    std::uint64_t weight = 0;
    for (const Json& object : objects) weight += weight_of(object);
    return weight;
}

// Errors that only the CRD's CEL rules prevent, which random objects need not satisfy, and errors that depend
// on the cluster.
bool may_be_admitted(std::string_view kind) {
    constexpr std::string_view kinds[] = {"must be auto, cpu, gpu or a number",
                                          "coscheduling and volcano exclude each other",
                                          "coscheduling and yunikorn exclude each other",
                                          "volcano and yunikorn exclude each other",
                                          "must be 1 to # letters, digits",
                                          "has at most # jobs under podGroupPolicy.yunikorn",
                                          "\" must be \"yunikorn\" or unset",
                                          "its Pods and those that start with it have tolerations",
                                          "of Secret kubeflow-system/ca is",
                                          "the host file of so many nodes does not fit",
                                          "is too large to be given to",
                                          "the jobs of a gang have # different classes",
                                          "the Pods of a gang ask for # kinds of resources",
                                          "must divide the # devices of a node",
                                          "nodes times",
                                          "makes more than #^# Pods",
                                          "a quantity is a string or a number",
                                          "\" is not a quantity"};
    return std::any_of(std::begin(kinds), std::end(kinds),
                       [&](auto known) { return kind.starts_with(known); });
}

void keep_most(const Work& work, std::uint64_t given, Work& most) {
    if (given < 50'000) return;  // the fixed cost of a build would dominate
    most.allocations = std::max(most.allocations, work.allocations * 1000 / given);
    most.bytes = std::max(most.bytes, work.bytes * 1000 / given);
    most.peak = std::max(most.peak, work.peak * 1000 / given);
}

// The work of a build, and its output, are proportional to its input. The limits are at least four times the
// maximum of 100,000 inputs. A list that is searched once per item would take hundreds of times as much.
std::string check_work(const Work& work, std::uint64_t given, const Json& runtime) {
    // MPI's host file grows with the number of nodes, up to the size of a ConfigMap.
    const bool host_file = runtime["spec"]["mlPolicy"].contains("mpi");
    if (work.allocations > given / 2 + (host_file ? 500'000 : 20'000))
        return "a build takes " + std::to_string(work.allocations) + " allocations";
    if (work.peak > 20 * given + (host_file ? 16'000'000 : 1'000'000))
        return "a build takes " + std::to_string(work.peak) + " bytes";
    return {};
}

std::string check_size(const runtime::Built& built, std::uint64_t given, const Json& runtime) {
    std::uint64_t made = 0;
    for (const runtime::BuiltObject& each : built.objects) made += weight_of(each.object);
    const std::uint64_t host_file = runtime["spec"]["mlPolicy"].contains("mpi") ? 1 << 20 : 0;
    return made > 4 * given + host_file + 100'000 ? "the outcome is huge" : "";
}

}  // namespace

std::string broken_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                        Tally& tally) {
    bool admitted = false;
    if (auto broken = broken_review_rule(input, pipeline, values, admitted); !broken.empty()) return broken;

    const api::TrainJob job = api::parse_train_job(input.job);
    runtime::Inputs inputs = {.job = job, .runtime = input.runtime};
    runtime::Needs needs;
    if (auto broken = observe(job, input.runtime, pipeline, values, inputs.observed, needs); !broken.empty())
        return broken;
    for (const Json& object : inputs.observed) ++tally.observed[std::string(object["kind"].as_string())];
    if (needs.ssh_key_pair) inputs.ssh_key_pair.emplace();
    if (needs.curve_key_pair) inputs.curve_key_pair.emplace();

    const std::uint64_t given =
        weight_of(input.job) + weight_of(input.runtime) + weight_of_all(inputs.observed);
    tally.weight += given;
    tally.heaviest = std::max(tally.heaviest, given);
    start_work();
    const auto built = runtime::build(inputs, pipeline);
    const Work work = work_done();
    keep_most(work, given, tally.most);
    if (auto broken = check_work(work, given, input.runtime); !broken.empty()) return broken;
    if (!built) {
        const std::string kind = kind_of(built.error());
        ++tally.refused[kind];
        if (admitted) ++tally.admitted_and_refused[kind];
        if (admitted && !may_be_admitted(kind)) return "admitted, but not built: " + describe(built.error());
        return check_refusal(built.error());
    }
    ++tally.built;
    if (given > 50'000) ++tally.large;
    if (auto broken = check_size(*built, given, input.runtime); !broken.empty()) return broken;
    if (auto broken = check_keys(needs, inputs.observed, *built); !broken.empty()) return broken;
    std::reverse(inputs.observed.begin(), inputs.observed.end());  // the order must have no effect
    const auto again = runtime::build(inputs, pipeline);
    if (!again || again->objects.size() != built->objects.size()) return "built once, but not twice";
    if (auto broken = check_outcome(job, *built, *again); !broken.empty()) return broken;

    const auto stored = runtime::read_snapshot(runtime::make_snapshot(job, input.runtime), job);
    if (!stored || !(*stored == input.runtime)) return "the snapshot is not the runtime";
    return {};
}
