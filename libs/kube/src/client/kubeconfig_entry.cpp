#include "client/kubeconfig_entry.hpp"

#include <filesystem>

#include "api/base64.hpp"

namespace kube {

using api::Json;

api::Error KubeconfigEntry::error(std::string_view field, std::string_view what) const {
    return {.code = api::Errc::invalid,
            .message = file + ": " + at + std::string(field) + " " + std::string(what)};
}

api::Result<> KubeconfigEntry::refuse(std::string_view field, std::string_view why) const {
    if ((*value)[field].empty()) return {};
    return error(field, why);
}

api::Result<bool> KubeconfigEntry::flag(std::string_view field) const {
    const Json& given = (*value)[field];
    if (!given.is_null() && !given.is_bool()) return error(field, "must be true or false");
    return given.bool_or(false);
}

api::Result<Material> KubeconfigEntry::pem(const std::string& field) const {
    const std::string data_field = field + "-data";
    if (const Json& data = (*value)[data_field]; !data.empty()) {
        auto text = api::from_base64(data.as_string());
        if (!text || text->find("-----BEGIN ") == std::string::npos)
            return error(data_field, "is not a PEM text in base64; encode the file with `base64 -w0`");
        return Material{.text = std::move(*text)};
    }
    return file_at(field);
}

api::Result<Material> KubeconfigEntry::file_at(std::string_view field) const {
    const Json& name = (*value)[field];
    if (name.empty()) return Material{};
    if (!name.is_string()) return error(field, "must be a file name");
    return Material{.file = resolved(name.as_string())};
}

std::string KubeconfigEntry::resolved(std::string_view path) const {
    return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

}  // namespace kube
