#pragma once
#include "controller/build_settings.hpp"
#include "net/process/run_main.hpp"
#include "offline/documents.hpp"
#include "render/print.hpp"

/// `kubectl trainjob render`: what would be applied for TrainJobs in files, without a cluster.
namespace cli {

struct RenderSettings {
    offline::InputSettings input = {};
    std::vector<std::string> other_version = {};  ///< --diff; empty: print the objects
    Format format = Format::yaml;
    controller::BuildSettings build = {};  ///< of which only what changes the objects matters
};

/// `settings` must outlive the options.
void add_options(net::Options& options, RenderSettings& settings);

/// Status 1 if some TrainJob cannot be stored or built. Fails on input that cannot be read and on options
/// that do not go together.
api::Result<net::Output> render(const RenderSettings& settings);

}  // namespace cli
