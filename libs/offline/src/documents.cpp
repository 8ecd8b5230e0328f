#include "offline/documents.hpp"

#include <algorithm>
#include <filesystem>

#include "net/process/file.hpp"

namespace offline {
namespace {

namespace fs = std::filesystem;
using api::Json;

constexpr std::string_view standard_input = "-";

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
    std::error_code trouble;
    if (name == standard_input || !fs::is_directory(name, trouble)) return std::vector{name};
    std::vector<std::string> files;
    for (fs::directory_iterator at(name, trouble), end; !trouble && at != end; at.increment(trouble))
        if (is_manifest(at->path())) files.push_back(at->path().string());
    if (trouble) return api::invalid("", name + " cannot be read: " + trouble.message());
    if (files.empty()) return api::invalid("", name + " has no .yaml, .yml or .json file in it");
    std::sort(files.begin(), files.end());
    return files;
}

api::Result<> add_documents(const std::string& file, std::vector<Document>& documents) {
    const bool is_input = file == standard_input;
    const auto text = is_input ? net::read_standard_input() : net::read_file(file);
    if (!text) return text.error();
    auto found = documents_of(is_input ? "stdin" : file, *text);
    if (!found) return found.error();
    documents.insert(documents.end(), std::make_move_iterator(found->begin()),
                     std::make_move_iterator(found->end()));
    return {};
}

}  // namespace

void add_options(net::Options& options, InputSettings& settings) {
    options.add("filename", "FILE", settings.files,
                "what to read: YAML with any number of documents, or JSON; - is standard input, a directory "
                "stands for the files in it; may be given several times");
    options.shorten("filename", 'f');
    options.add("namespace", "NAMESPACE", settings.ns, "of objects that do not say theirs");
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
    if (files.empty()) return api::invalid("", "nothing to read: name files with -f, or -f - for stdin");
    std::vector<Document> documents;
    for (const std::string& name : files) {
        const auto each = expanded(name);
        if (!each) return each.error();
        for (const std::string& file : *each)
            if (auto added = add_documents(file, documents); !added) return added.error();
    }
    return documents;
}

}  // namespace offline
