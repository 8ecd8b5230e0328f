#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/located_yaml.hpp"
#include "api/object_key.hpp"
#include "net/options.hpp"

/// What both programs can tell from files alone: reading them, and an API server made of them.
namespace offline {

/// What the command line says of the input.
struct InputSettings {
    std::vector<std::string> files = {};
    std::string ns = "default";  ///< of objects that do not say theirs
};

/// -f and -n; `settings` must outlive the options.
void add_options(net::Options& options, InputSettings& settings);

/// One object of the input, and where it stands.
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
    /// Of a field of the object, or of the nearest that it would be in. "": of the object itself.
    int line(std::string_view field = {}) const;
    /// "job.yaml:14"
    std::string place(std::string_view field = {}) const;

private:
    std::string file_;
    api::Json object_;
    int line_;
    std::shared_ptr<const api::Lines> lines_;  // of the whole document of the stream
    std::string path_;                         // of the object in it, if it is the item of a list
};

/// The objects of one text, in order; those of a List one by one. Errors name file, line and column.
api::Result<std::vector<Document>> documents_of(const std::string& file, std::string_view text);

/// Of all files, in order: "-" is standard input, a directory stands for its .yaml, .yml and .json files.
api::Result<std::vector<Document>> read_documents(const std::vector<std::string>& files);

}  // namespace offline
