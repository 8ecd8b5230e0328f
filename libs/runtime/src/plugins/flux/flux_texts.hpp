#pragma once
#include <string_view>

/// The files of the folder flux/, unchanged: "{{name}}" is a placeholder for a value of FluxFiles.
namespace runtime::flux_texts {

extern const std::string_view init_sh;
extern const std::string_view entrypoint_sh;
extern const std::string_view broker_toml;

}  // namespace runtime::flux_texts
