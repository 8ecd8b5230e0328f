#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "command/command.hpp"
#include "controller/build_settings.hpp"
#include "offline/documents.hpp"

/// `kubectl trainjob render`: what would be applied for TrainJobs in files, without a cluster.
namespace cli {

enum class Format { yaml, json };

/// Returns YAML documents with "---" between them, or one List as JSON. Equal objects give equal text.
Text print(const std::vector<api::Json>& objects, Format format);

/// Returns a Secret with each value replaced by "***".
api::Json masked(api::Json object);

/// Returns a unified diff, with some lines around each change; empty for equal texts.
Text difference(const std::string& before_name, const Text& before, const std::string& after_name,
                const Text& after);

struct RenderSettings {
    offline::InputSettings input = {};
    std::vector<std::string> other_version = {};  ///< --diff; empty: print the objects
    Format format = Format::yaml;
    controller::BuildSettings build = {};  ///< only differences caused by these files matter
};

/// `settings` must outlive the options.
void add_options(net::Options& options, RenderSettings& settings);

/// Returns status 1 if a TrainJob cannot be stored or built. Fails on unreadable input and on options that
/// exclude each other.
api::Result<Output> render(const RenderSettings& settings);
Command render_command();

}  // namespace cli
