#pragma once
#include "runtime/plugin.hpp"

/// One function per plugin; each is a file of this folder.
namespace runtime {

std::unique_ptr<Plugin> make_plain_ml();
std::unique_ptr<Plugin> make_torch();
std::unique_ptr<Plugin> make_jax();
std::unique_ptr<Plugin> make_xgboost();
std::unique_ptr<Plugin> make_initializers();
std::unique_ptr<Plugin> make_status(StatusServer server);
std::unique_ptr<Plugin> make_mpi();
std::unique_ptr<Plugin> make_flux();
std::unique_ptr<Plugin> make_coscheduling();
std::unique_ptr<Plugin> make_volcano();
std::unique_ptr<Plugin> make_job_set();

}  // namespace runtime
