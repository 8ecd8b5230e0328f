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
    controller::BuildSettings build = {};  ///< only differences caused by these files matter
};

/// `settings` must outlive the options.
void add_options(net::Options& options, RenderSettings& settings);

/// Returns status 1 if a TrainJob cannot be stored or built. Fails on unreadable input and on options that
/// exclude each other.
api::Result<net::Output> render(const RenderSettings& settings);

}  // namespace cli
