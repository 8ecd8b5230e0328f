#include "net/process/sibling.hpp"

#include <unistd.h>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace net {
namespace {

constexpr int not_found = 127;  // as shells report a missing command

std::string folder_of_this_executable() {
    char path[PATH_MAX] = {};
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
    const std::string own(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    return own.substr(0, own.rfind('/') + 1);
}

}  // namespace

int execute_moved_command(const char* server, const Sibling& sibling, const char* const* arguments) noexcept {
    std::fprintf(stderr, "%s %s is %s %s now, and goes with the next release\n", server, *arguments,
                 sibling.call, *arguments);
    try {
        const std::string path = folder_of_this_executable() + sibling.file;
        std::vector<char*> all = {const_cast<char*>(sibling.file)};
        for (; *arguments; ++arguments) all.push_back(const_cast<char*>(*arguments));
        all.push_back(nullptr);
        ::execv(path.c_str(), all.data());
        std::fprintf(stderr, "cannot execute %s: %s\n", path.c_str(), std::strerror(errno));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cannot execute %s: %s\n", sibling.file, error.what());
    }
    return not_found;
}

}  // namespace net
