#include "render/render.hpp"

#include <algorithm>

#include "controller/cache/cache.hpp"
#include "offline/input.hpp"
#include "render/dry_run.hpp"
#include "runtime/plugin.hpp"
#include "runtime/snapshot.hpp"

namespace cli {
namespace {

using api::Json;
using offline::Document;
using offline::InputObject;
namespace resources = kube::resources;

// The objects of all TrainJobs of the input, or the errors.
struct Rendered {
    std::vector<Json> objects = {};
    Text remarks = {};  // lines
    bool failed = false;

    void remark(const std::string& line) { remarks += Text::line(line); }
    void fail(const std::string& line) {
        remark(line);
        failed = true;
    }
};

bool is_train_job(const InputObject& known) { return known.resource.plural == resources::train_jobs.plural; }

// An object that the API server refuses is never built.
void look_at_schema(const InputObject& known, Rendered& rendered) {
    for (const std::string& field : known.unknown_fields)
        rendered.remark(known.document->place(field) + ": warning: " + known.name() + ": unknown field \"" +
                        field + "\" is dropped");
    for (const api::StatusCause& error : offline::validate_schema(known.object))
        rendered.fail(known.document->place(error.place) + ": " + known.name() +
                      " would not be stored: " + error.field + ": " + error.message);
}

std::string hint(const InputObject& job, const offline::DocumentServer& server,
                 const std::vector<InputObject>& all) {
    const api::TrainJob parsed = api::parse_train_job(job.object);
    const api::ObjectKey key = controller::runtime_key(parsed);
    const auto& resource =
        key.ns.empty() ? resources::cluster_training_runtimes : resources::training_runtimes;
    if (!is_supported(parsed.runtime_ref) || server.find(resource, key)) return "";
    const std::string advice = offline::suggest_runtime(parsed.runtime_ref, job.key.ns, all);
    return "; " + (advice.empty() ? "its file is missing among those of -f" : advice);
}

void add(const InputObject& job, const offline::DocumentServer& server, const std::vector<InputObject>& all,
         const runtime::Pipeline& pipeline, Rendered& rendered) {
    Rendering one = render_train_job(server, job.key, pipeline);
    if (one.error)
        return rendered.fail(job.document->place(one.error->field) + ": " + job.name() +
                             " would not be built: " + describe(*one.error) + hint(job, server, all));
    for (const std::string& warning : one.warnings)
        rendered.remark(job.document->place() + ": warning: " + job.name() + ": " + warning);
    if (one.is_managed_by_others)
        rendered.remark(job.document->place("spec.managedBy") + ": note: " + job.name() +
                        " is managed by another controller: nothing is applied");
    for (Json& object : one.objects) rendered.objects.push_back(masked(std::move(object)));
}

api::Result<Rendered> render_all(const offline::Input& input, const runtime::Pipeline& pipeline) {
    Rendered rendered;
    offline::DocumentServer server;
    for (const Document* other : input.others)
        rendered.remark(other->place() + ": note: " + std::string(other->object()["kind"].as_string()) +
                        " is passed over: no TrainJob depends on it");
    for (const InputObject& known : input.known) {
        server.put(known.resource, known.object);
        look_at_schema(known, rendered);
    }
    if (std::none_of(input.known.begin(), input.known.end(), is_train_job))
        return api::invalid("", "there is no TrainJob among the documents");
    if (rendered.failed) return rendered;
    for (const InputObject& known : input.known)
        if (is_train_job(known)) add(known, server, input.known, pipeline, rendered);
    return rendered;
}

// Returns the documents of -f, with those of --diff in place of documents with the same name.
api::Result<offline::Input> replaced(offline::Input input, const offline::Input& others) {
    for (const InputObject& other : others.known) {
        const InputObject* same = input.find(other.resource, other.key);
        if (!same)
            return api::invalid("", other.document->place() + ": --diff replaces documents of -f, and " +
                                        other.name() + " is not among them");
        input.known[static_cast<std::size_t>(same - input.known.data())] = other;
    }
    return input;
}

std::string name_of(const Json& object) {
    return std::string(object["kind"].as_string()) + " " + to_string(api::parse_meta(object).key());
}

// The edited runtime itself differs by definition.
bool is_snapshot(const Json& object) {
    const std::string_view name = object["metadata"]["name"].as_string();
    return object["kind"].as_string() == "ConfigMap" && name.ends_with(runtime::snapshot_name("")) &&
           object["data"].members().size() == 1;
}

const Json* find(const std::vector<Json>& objects, const std::string& name) {
    const auto at = std::find_if(objects.begin(), objects.end(),
                                 [&](const Json& object) { return name_of(object) == name; });
    return at == objects.end() ? nullptr : &*at;
}

Text differences(const std::vector<Json>& before, const std::vector<Json>& after) {
    Text text;
    const auto yaml = [](const Json* object) { return object ? Text::yaml(*object) : Text(); };
    const auto compare = [&](const std::string& name, const Json* old_one, const Json* new_one) {
        text += difference(old_one ? name + " (-f)" : "/dev/null", yaml(old_one),
                           new_one ? name + " (--diff)" : "/dev/null", yaml(new_one));
    };
    for (const Json& object : before)
        if (!is_snapshot(object)) compare(name_of(object), &object, find(after, name_of(object)));
    for (const Json& object : after)
        if (!is_snapshot(object) && !find(before, name_of(object)))
            compare(name_of(object), nullptr, &object);
    return text;
}

api::Result<Output> compare(const offline::Input& input, const RenderSettings& settings,
                            const runtime::Pipeline& pipeline) {
    const auto documents = offline::read_documents(settings.other_version);
    if (!documents) return documents.error();
    const auto others = offline::load_input(*documents, settings.input.ns, runtime::owned_kinds(pipeline));
    if (!others) return others.error();
    const auto changed = replaced(input, *others);
    if (!changed) return changed.error();
    const auto before = render_all(input, pipeline);
    if (!before) return before.error();
    const auto after = render_all(*changed, pipeline);
    if (!after) return after.error();
    Output output = {.err = before->remarks, .status = before->failed || after->failed ? 1 : 0};
    // Most TrainJobs are not affected by the change.
    if (after->remarks != before->remarks) output.err += after->remarks;
    if (output.status == 0) output.out = differences(before->objects, after->objects);
    return output;
}

}  // namespace

void add_options(net::Options& options, RenderSettings& settings) {
    add_options(options, settings.input);
    options.add_choice("output", settings.format, {{"yaml", Format::yaml}, {"json", Format::json}},
                       "how to print the objects: YAML documents, or one List as JSON");
    options.shorten("output", 'o');
    options.add(
        "diff", "FILE", settings.other_version,
        "print what would change if the documents of this file stood in the place of those of the same "
        "kind and name: another version of a runtime; may be given several times");
    controller::add_options(options, settings.build);
}

api::Result<Output> render(const RenderSettings& settings) {
    if (auto valid = controller::check(settings.build); !valid) return valid.error();
    const bool compares = !settings.other_version.empty();
    if (compares && settings.format == Format::json)
        return api::invalid("", "--diff compares YAML: leave out --output");
    const auto pipeline = runtime::make_pipeline(controller::features_of(settings.build, ""));
    const auto documents = offline::read_input(settings.input);
    if (!documents) return documents.error();
    const auto input = offline::load_input(*documents, settings.input.ns, runtime::owned_kinds(pipeline));
    if (!input) return input.error();
    if (compares) return compare(*input, settings, pipeline);
    const auto rendered = render_all(*input, pipeline);
    if (!rendered) return rendered.error();
    Output output = {.err = rendered->remarks, .status = rendered->failed ? 1 : 0};
    if (!rendered->failed) output.out = print(rendered->objects, settings.format);
    return output;
}

Command render_command() {
    static constexpr Example examples[] = {
        {"render -f job.yaml -f runtime.yaml", "Prints the objects that the TrainJob would become."},
        {"render -f job.yaml -f runtime.yaml --diff new.yaml", "Prints what new.yaml would change of them."},
        {"render -k overlays/team", "Prints the objects for the TrainJobs that kustomize builds."},
    };
    return {.name = "render",
            .about = "print what would be applied for TrainJobs in files, without a cluster",
            .help =
                "Prints what would be applied for the TrainJobs in some files, by the runtimes in them and "
                "what else is there, without a cluster. Values of Secrets are not shown. Exit status: 0; 1 "
                "if a TrainJob would not be built; 2 on bad usage or input that cannot be read.",
            .examples = examples,
            .run = run_with<RenderSettings, render>,
            .options = options_of<RenderSettings>};
}

}  // namespace cli
