#include "check/check.hpp"

#include <algorithm>
#include <span>

#include "api/names.hpp"
#include "api/text.hpp"
#include "api/train_job.hpp"
#include "check/admission_chain.hpp"
#include "runtime/plugin.hpp"

namespace cli {
namespace {

using api::Json;
using offline::Document;
using offline::InputObject;
namespace resources = kube::resources;

// What admission says to one object of the input.
struct Verdict {
    const offline::InputObject* object = nullptr;
    AdmissionAnswer answer = {};
};

Text line(const std::string& place, const std::string& text) { return Text::line(place + ": " + text); }

// One line per thing that is wrong, with the place of its field.
Text text_of(const Verdict& verdict) {
    const auto& [object, answer] = verdict;
    const InputObject& known = *object;
    const Document& document = *known.document;
    Text text;
    for (const std::string& warning : answer.warnings)
        text += line(document.place(), "warning: " + known.name() + ": " + warning);
    if (!answer.refusal) return text + line(document.place(), known.name() + " is allowed");
    const std::string refused = known.name() + " is refused: ";
    for (const api::StatusCause& cause : answer.refusal->causes)
        text += line(document.place(cause.place), refused + cause.field + ": " + cause.message);
    if (!answer.refusal->causes.empty()) return text;
    if (known.unknown_fields.empty()) return text + line(document.place(), refused + answer.refusal->message);
    for (const std::string& field : known.unknown_fields)
        text += line(document.place(field), refused + "unknown field " + api::quoted(field));
    return text;
}

Json json_of(const Verdict& verdict) {
    const auto& [object, answer] = verdict;
    const InputObject& known = *object;
    const Document& document = *known.document;
    Json json = Json::object({{"file", document.file()},
                              {"line", document.line()},
                              {"kind", known.kind},
                              {"namespace", known.key.ns},
                              {"name", known.key.name},
                              {"allowed", !answer.refusal}});
    for (const std::string& warning : answer.warnings) json["warnings"].push_back(warning);
    if (!answer.refusal) return json;
    json["code"] = answer.refusal->code;
    json["reason"] = answer.refusal->reason;
    json["message"] = answer.refusal->message;
    for (const api::StatusCause& cause : answer.refusal->causes)
        json["causes"].push_back(Json::object({{"reason", cause.reason},
                                               {"field", cause.field},
                                               {"message", cause.message},
                                               {"line", document.line(cause.place)}}));
    return json;
}

std::string counted(std::size_t number, const std::string& thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string counts(std::size_t errors, std::size_t warnings) {
    return counted(errors, "error") + ", " + counted(warnings, "warning");
}

// Of several errors the first is enough: the text form has them all.
std::string why(const Verdict& verdict) {
    if (!verdict.answer.refusal) return "";
    const auto& causes = verdict.answer.refusal->causes;
    const auto& unknown = verdict.object->unknown_fields;
    if (!causes.empty()) return "; " + causes.front().field + ": " + causes.front().message;
    if (!unknown.empty()) return "; unknown field " + api::to_json(api::Json(unknown.front()));
    return "; " + verdict.answer.refusal->message;
}

// For how many reasons the object is refused: 0 if it is allowed.
std::size_t errors(const Verdict& verdict) {
    if (!verdict.answer.refusal) return 0;
    const std::size_t causes = verdict.answer.refusal->causes.size();
    return std::max<std::size_t>(causes > 0 ? causes : verdict.object->unknown_fields.size(), 1);
}

// A line for each object, with its place, its verdict, the numbers of errors and warnings, and the first
// error; and a last line with the sums.
Text summary(std::span<const Verdict> verdicts) {
    Text text;
    std::size_t refused = 0;
    std::size_t warned = 0;
    std::size_t all_errors = 0;
    std::size_t all_warnings = 0;
    for (const Verdict& verdict : verdicts) {
        const std::size_t warnings = verdict.answer.warnings.size();
        text += line(verdict.object->document->place(),
                     verdict.object->name() + " is " + (verdict.answer.refusal ? "refused" : "allowed") +
                         ": " + counts(errors(verdict), warnings) + why(verdict));
        refused += verdict.answer.refusal ? 1 : 0;
        warned += !verdict.answer.refusal && warnings > 0 ? 1 : 0;
        all_errors += errors(verdict);
        all_warnings += warnings;
    }
    return text +
           Text::line(counted(verdicts.size(), "object") + ": " + std::to_string(verdicts.size() - refused) +
                      " allowed, " + std::to_string(warned) + " of them with warnings, " +
                      std::to_string(refused) + " refused; " + counts(all_errors, all_warnings));
}

Text report(const std::vector<Verdict>& verdicts, Report form) {
    if (form == Report::summary) return summary(verdicts);
    Json json = Json::array();
    Text text;
    for (const Verdict& verdict : verdicts) {
        if (form == Report::json)
            json.push_back(json_of(verdict));
        else
            text += text_of(verdict);
    }
    return form == Report::json ? Text::json(json) : text;
}

// A cluster has its runtimes already; files often do not.
Text hint(const InputObject& known, const offline::DocumentServer& server,
          const std::vector<InputObject>& all) {
    if (known.kind != api::train_job_kind) return {};
    const api::RuntimeRef ref = api::parse_runtime_ref(known.object["spec"]);
    const bool namespaced = ref.kind == api::training_runtime_kind;
    const auto& resource = namespaced ? resources::training_runtimes : resources::cluster_training_runtimes;
    const api::ObjectKey key = {namespaced ? known.key.ns : std::string(), ref.name};
    if (!is_supported(ref) || ref.name.empty() || server.find(resource, key)) return {};
    std::string advice = offline::suggest_runtime(ref, known.key.ns, all);
    if (advice.empty())
        advice = ref.kind + " \"" + ref.name + "\" is not among the documents: name its file with -f as well";
    return line(known.document->place("spec.runtimeRef"), "hint: " + advice);
}

api::Result<offline::Input> load_input(const std::vector<Document>& documents,
                                       const CheckSettings& settings) {
    return offline::load_input(documents, settings.input.ns, runtime::owned_kinds());
}

}  // namespace

void add_options(net::Options& options, CheckSettings& settings) {
    add_options(options, settings.input);
    options.add(
        "before", "FILE", settings.before,
        "what is stored now: documents that are in there as well are checked as updates of it; may be "
        "given several times");
    options.add_choice("validate", settings.validation,
                       {{"strict", FieldValidation::strict},
                        {"warn", FieldValidation::warn},
                        {"ignore", FieldValidation::ignore}},
                       "what happens to unknown fields, as with kubectl");
    options.add_choice("output", settings.report,
                       {{"text", Report::text}, {"json", Report::json}, {"summary", Report::summary}},
                       "one line per finding as text, a JSON list of verdicts, or one line per object "
                       "with the numbers of its errors and warnings");
    options.shorten("output", 'o');
    options.add_list("feature-gates", "LIST", settings.feature_gates,
                     "as the webhook in the cluster has them");
    options.add_list("accelerators", "LIST", settings.accelerators, runtime::accelerators_help);
    options.add_list("gang-schedulers", "LIST", settings.gang_schedulers, runtime::gang_schedulers_help);
}

api::Result<Output> check(const CheckSettings& settings) {
    if (auto gates = runtime::check_gates(settings.feature_gates); !gates) return gates.error();
    const auto documents = offline::read_input(settings.input);
    if (!documents) return documents.error();
    std::vector<Document> old_documents;
    if (!settings.before.empty()) {
        auto read = offline::read_documents(settings.before);
        if (!read) return read.error();
        old_documents = std::move(*read);
    }
    const auto input = load_input(*documents, settings);
    if (!input) return input.error();
    const auto before = load_input(old_documents, settings);
    if (!before) return before.error();

    offline::DocumentServer server;
    for (const offline::Input* each : {&*before, &*input})
        for (const InputObject& known : each->known) server.put(known.resource, known.object);

    Output output;
    for (const Document* other : input->others)
        output.err += line(other->place(), "note: " + std::string(other->object()["kind"].as_string()) +
                                               " is passed over: no verdict depends on it");
    const runtime::Pipeline pipeline = runtime::make_pipeline(admission::features_of(
        settings.feature_gates,
        {.devices = settings.accelerators, .gang_schedulers = settings.gang_schedulers}));
    OfflineAdmission admission(server, pipeline, settings.validation,
                               {.gates = runtime::Gates(settings.feature_gates)});
    std::vector<Verdict> verdicts;
    for (const InputObject& known : input->known) {
        if (!known.is_of_trainer) continue;
        verdicts.push_back({&known, admission.admit(known, before->find(known.resource, known.key))});
        if (!verdicts.back().answer.refusal) continue;
        output.status = 1;
        output.err += hint(known, server, input->known);
    }
    if (verdicts.empty())
        return api::invalid("", "there is neither a TrainJob nor a runtime among the documents");
    output.out = report(verdicts, settings.report);
    return output;
}

Command check_command() {
    static constexpr Example examples[] = {
        {"check -f job.yaml -f runtime.yaml", "Checks a TrainJob and its runtime."},
        {"check -f new.yaml --before job.yaml", "Checks new.yaml as an update of job.yaml."},
        {"check -k overlays/team -o summary", "Checks what kustomize builds, with a line for each object."},
    };
    return {.name = "check",
            .about = "print what admission would answer to objects in files, without a cluster",
            .help =
                "Prints what admission would answer to the TrainJobs and runtimes in files, by the other "
                "objects in them, without a cluster. Exit status: 0; 1 if something would be refused; 2 on "
                "bad usage or input that cannot be read.",
            .examples = examples,
            .run = run_with<CheckSettings, check>,
            .options = options_of<CheckSettings>};
}

}  // namespace cli
