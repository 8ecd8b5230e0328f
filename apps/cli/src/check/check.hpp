#pragma once
#include "check/admission_chain.hpp"
#include "command/command.hpp"
#include "offline/documents.hpp"

/// `kubectl trainjob check`: what admission would say to TrainJobs and runtimes in files, without a cluster.
namespace cli {

enum class Report { text, json, summary };

struct CheckSettings {
    offline::InputSettings input = {};
    std::vector<std::string> before = {};  ///< what is stored now
    FieldValidation validation = FieldValidation::strict;
    Report report = Report::text;
    net::FeatureGates feature_gates = {};  ///< of which only what changes the rules matters
    runtime::DeviceTable accelerators = {};
    runtime::GangSchedulers gang_schedulers = {};
};

/// `settings` must outlive the options.
void add_options(net::Options& options, CheckSettings& settings);

/// Status 1 if something would be refused. Fails on input that cannot be read.
api::Result<Output> check(const CheckSettings& settings);
Command check_command();

}  // namespace cli
