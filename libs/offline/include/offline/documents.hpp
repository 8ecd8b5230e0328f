#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/object_key.hpp"
#include "api/yaml.hpp"
#include "net/process/options.hpp"

/// Reads manifests, for commands that work on files without a cluster.
namespace offline {

/// The input options of a command.
struct InputSettings {
    std::vector<std::string> files = {};
    std::vector<std::string> kustomizations = {};  ///< directories of kustomize
    std::string ns = "default";                    ///< for objects without a namespace
};

/// Adds -f, -k and -n. `settings` must outlive the options.
void add_options(net::Options& options, InputSettings& settings);

/// One object of the input and its position.
class Document {
public:
    Document(std::string file, api::Json object, int line, std::shared_ptr<const api::Lines> lines,
             std::string path = {})
        : file_(std::move(file)),
          object_(std::move(object)),
          line_(line),
          lines_(std::move(lines)),
          path_(std::move(path)) {}

    const api::Json& object() const { return object_; }
    const std::string& file() const { return file_; }
    /// Returns the line of a field of the object; if the field is missing, of its nearest existing parent. ""
    /// is the object itself.
    int line(std::string_view field = {}) const;
    /// Returns "job.yaml:14".
    std::string place(std::string_view field = {}) const;

private:
    std::string file_;
    api::Json object_;
    int line_;
    std::shared_ptr<const api::Lines> lines_;  // of the whole document in the stream
    std::string path_;                         // of the object in the document, if it is an item of a List
};

/// Returns the objects of one text, in order, with the items of a List one by one. Errors name file, line and
/// column.
api::Result<std::vector<Document>> documents_of(const std::string& file, std::string_view text);

/// Reads all files, in order. "-" is standard input; a directory stands for its .yaml, .yml and .json files.
api::Result<std::vector<Document>> read_documents(const std::vector<std::string>& files);

/// Reads the files, then what `kubectl kustomize` prints for each kustomization, as a file "kustomize DIR".
/// kubectl must be on the PATH; its standard error is that of this process. Blocks the thread.
api::Result<std::vector<Document>> read_input(const InputSettings& settings);

}  // namespace offline
