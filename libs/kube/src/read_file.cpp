#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "kube/config.hpp"

namespace kube {

api::Result<std::string> read_file(const std::string& path) {
    constexpr std::size_t limit = 8 * 1024 * 1024;
    const auto failure = [&](const std::string& why) {
        return api::Error{.code = api::Errc::unavailable, .message = "cannot read " + path + ": " + why};
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) return failure(std::strerror(errno));
    std::string text;
    char block[16 * 1024];
    while (const std::size_t size = std::fread(block, 1, sizeof block, file.get())) {
        text.append(block, size);
        if (text.size() > limit) return failure("it is larger than 8 MiB");
    }
    if (std::ferror(file.get())) return failure(std::strerror(errno));
    return text;
}

}  // namespace kube
