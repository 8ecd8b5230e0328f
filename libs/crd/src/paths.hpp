#pragma once
#include <string>
#include <string_view>

// Paths as error messages write them: "spec.trainer.env[3].name".
namespace crd {

inline std::string below(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
}

inline std::string at(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
}

}  // namespace crd
