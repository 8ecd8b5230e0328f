#include "offline/documents.hpp"

#include <algorithm>
#include <filesystem>

#include "net/process/file.hpp"
#include "net/process/run_program.hpp"

namespace offline {
namespace {

namespace fs = std::filesystem;
using api::Json;

constexpr std::string_view standard_input = "-";
constexpr std::size_t largest_build = 16 * 1024 * 1024;  // as of a file

bool is_list(const Json& object) {
    return object["kind"].as_string() == "List" && object["apiVersion"].as_string() == "v1";
}

api::Error no_object(const Document& document) {
    return api::invalid(
        "", document.place() + ": not a Kubernetes object: it needs apiVersion, kind and metadata");
}

// Files of kustomize contain no objects.
bool is_manifest(const fs::path& path) {
    const fs::path type = path.extension();
    return (type == ".yaml" || type == ".yml" || type == ".json") && path.stem() != "kustomization";
}

// Returns the file itself, or the files of a directory in the order of their names.
api::Result<std::vector<std::string>> expanded(const std::string& name) {
    std::error_code error;
    if (name == standard_input || !fs::is_directory(name, error)) return std::vector{name};
    std::vector<std::string> files;
    for (fs::directory_iterator at(name, error), end; !error && at != end; at.increment(error))
        if (is_manifest(at->path())) files.push_back(at->path().string());
    if (error) return api::invalid("", name + " cannot be read: " + error.message());
    if (files.empty()) return api::invalid("", name + " has no .yaml, .yml or .json file in it");
    std::sort(files.begin(), files.end());
    return files;
}

api::Result<> add_documents(const std::string& name, const api::Result<std::string>& text,
                            std::vector<Document>& documents) {
    if (!text) return text.error();
    auto found = documents_of(name, *text);
    if (!found) return found.error();
    documents.insert(documents.end(), std::make_move_iterator(found->begin()),
                     std::make_move_iterator(found->end()));
    return {};
}

api::Result<> add_file(const std::string& file, std::vector<Document>& documents) {
    if (file == standard_input) return add_documents("stdin", net::read_standard_input(), documents);
    return add_documents(file, net::read_file(file), documents);
}

// kubectl has the kustomize with which `kubectl apply -k` builds the same directory.
api::Result<std::string> kustomized(const std::string& directory) {
    const auto done = net::run_program(
        {.command = "kubectl", .arguments = {"kustomize", "--", directory}, .most_output = largest_build});
    const std::string option = "-k " + directory + ": ";
    if (!done)
        return api::invalid("", option + "kubectl " + done.error().message +
                                    ": without it, pipe the output of kustomize to -f -");
    if (done->status != 0)
        return api::invalid("",
                            option + "kubectl kustomize ended with status " + std::to_string(done->status));
    return done->output;
}

}  // namespace

void add_options(net::Options& options, InputSettings& settings) {
    options.add("filename", "FILE", settings.files,
                "what to read: YAML with any number of documents, or JSON; - is standard input, a directory "
                "stands for the files in it; may be given several times");
    options.shorten("filename", 'f');
    options.add("kustomize", "DIR", settings.kustomizations,
                "a directory of kustomize: reads what kubectl kustomize prints for it; may be given several "
                "times");
    options.shorten("kustomize", 'k');
    options.add("namespace", "NAMESPACE", settings.ns, "of objects that name none");
    options.shorten("namespace", 'n');
}

int Document::line(std::string_view field) const {
    if (field.empty() || !lines_) return line_;
    const std::string path = path_.empty() ? std::string(field) : path_ + "." + std::string(field);
    return api::line_of(*lines_, path, line_);
}

std::string Document::place(std::string_view field) const {
    return file_ + ":" + std::to_string(line(field));
}

api::Result<std::vector<Document>> documents_of(const std::string& file, std::string_view text) {
    auto parsed = api::parse_located_yaml(text);
    if (!parsed) return api::invalid("", file + ": " + api::describe(parsed.error()));
    std::vector<Document> documents;
    for (api::LocatedDocument& each : *parsed) {
        const auto lines = std::make_shared<const api::Lines>(std::move(each.lines));
        if (!is_list(each.value)) {
            documents.emplace_back(file, std::move(each.value), each.line, lines);
            continue;
        }
        auto& items = each.value["items"];
        if (!items.is_array() && !items.is_null())
            return api::invalid("", file + ":" + std::to_string(each.line) + ": items must be a list");
        std::size_t index = 0;
        for (Json& item : items.items()) {
            const std::string path = "items[" + std::to_string(index++) + "]";
            documents.emplace_back(file, std::move(item), api::line_of(*lines, path, each.line), lines, path);
        }
    }
    for (const Document& document : documents) {
        const Json& object = document.object();
        if (object["kind"].as_string().empty() || object["apiVersion"].as_string().empty() ||
            !object["metadata"].is_object())
            return no_object(document);
    }
    return documents;
}

api::Result<std::vector<Document>> read_documents(const std::vector<std::string>& files) {
    std::vector<Document> documents;
    for (const std::string& name : files) {
        const auto each = expanded(name);
        if (!each) return each.error();
        for (const std::string& file : *each)
            if (auto added = add_file(file, documents); !added) return added.error();
    }
    return documents;
}

api::Result<std::vector<Document>> read_input(const InputSettings& settings) {
    if (settings.files.empty() && settings.kustomizations.empty())
        return api::invalid("",
                            "nothing to read: name files with -f, directories of kustomize with -k, or "
                            "-f - for stdin");
    auto documents = read_documents(settings.files);
    if (!documents) return documents.error();
    for (const std::string& directory : settings.kustomizations)
        if (auto added = add_documents("kustomize " + directory, kustomized(directory), *documents); !added)
            return added.error();
    return documents;
}

}  // namespace offline
