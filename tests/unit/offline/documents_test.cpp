#include "offline/documents.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/printers.hpp"
#include "support/temporary_directory.hpp"

using offline::Document;

namespace {

std::vector<Document> documents(std::string_view text) {
    auto found = offline::documents_of("job.yaml", text);
    REQUIRE(found);
    return *std::move(found);
}

std::string failure(const api::Result<std::vector<Document>>& result) {
    REQUIRE(result.has_error());
    return result.error().message;
}

std::string config_map(const std::string& name) {
    return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n";
}

std::string names(const std::vector<Document>& found) {
    std::string text;
    for (const Document& document : found)
        text += std::string(document.object()["metadata"]["name"].as_string()) + " ";
    return text;
}

}  // namespace

TEST_CASE("a document has its place and the places of its fields", "[offline]") {
    const auto found = documents("---\n" + config_map("a") + "---\n\n" + config_map("b") + "data:\n  x: y\n");
    REQUIRE(found.size() == 2);
    CHECK(found[0].place() == "job.yaml:2");
    CHECK(found[1].place() == "job.yaml:7");
    CHECK(found[1].place("data.x") == "job.yaml:11");
    CHECK(found[1].place("<nil>") == "job.yaml:7");
}

TEST_CASE("a List stands for its items", "[offline]") {
    const auto found = documents(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: b\n");
    CHECK(names(found) == "a b ");
    CHECK(found[1].line() == 7);
    CHECK(found[1].place("metadata.name") == "job.yaml:10");
    CHECK(found[1].place("data") == "job.yaml:7");
    CHECK(documents("apiVersion: v1\nkind: List\n").empty());
}

TEST_CASE("a document that is not an object is refused with its place", "[offline]") {
    const std::pair<const char*, const char*> cases[] = {
        {"a: [\n", "job.yaml: line 2, column 1: "},
        {"a: 1\na: 2\n", "job.yaml: line 2, column 1: duplicate key"},
        {"a: 1\n", "job.yaml:1: not a Kubernetes object: it needs apiVersion, kind and metadata"},
        {"apiVersion: v1\nkind: X\nmetadata: [a]\n", "job.yaml:1: not a Kubernetes object"},
        {"\n- 1\n", "job.yaml:2: not a Kubernetes object"},
        {"text", "job.yaml:1: not a Kubernetes object"},
        {"apiVersion: v1\nkind: List\nitems: 3\n", "job.yaml:1: items must be a list"},
        {"apiVersion: v1\nkind: List\nitems:\n- 3\n", "job.yaml:4: not a Kubernetes object"},
    };
    for (const auto& [text, want] : cases) {
        INFO(text);
        CHECK(failure(offline::documents_of("job.yaml", text)).find(want) == 0);
    }
    CHECK(documents("").empty());
    CHECK(documents("---\n---\n# nothing\n").empty());
}

TEST_CASE("files are read in order, and in a directory only those with manifests", "[offline]") {
    const test::TemporaryDirectory directory;
    const std::string first = directory.write("z.yaml", config_map("z"));
    directory.write("b.yml", config_map("b"));
    directory.write("a.json", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
    directory.write("README.md", "no: [manifest");
    directory.write("kustomization.yaml", "resources: [a.json]");
    std::filesystem::create_directory(directory.path + "/below");
    CHECK(names(offline::read_documents({first, directory.path}).value()) == "z a b z ");

    CHECK(failure(offline::read_input({})).find("-f, directories of kustomize with -k") != std::string::npos);
    CHECK(failure(offline::read_documents({directory.path + "/below"})).find("has no .yaml") !=
          std::string::npos);
    CHECK(failure(offline::read_documents({directory.path + "/none"})).find("does not exist") !=
          std::string::npos);
}
