#include "net/process/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace net {
namespace {

struct Descriptor {
    int fd;
    explicit Descriptor(const std::string& path)
        : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
};

api::Error because_of(int error, const std::string& path) {
    if (error == ENOENT || error == ENOTDIR)
        return {.code = api::Errc::not_found,
                .message = path + " does not exist: create it or name another file"};
    if (error == EACCES || error == EPERM)
        return {.code = api::Errc::forbidden,
                .message = path + " cannot be read: allow this user to read it"};
    return {.code = api::Errc::invalid, .message = path + " cannot be read: " + std::strerror(error)};
}

api::Result<std::string> read_all(int fd, const std::string& path, std::size_t max_bytes) {
    std::string text;
    for (;;) {
        char piece[16 * 1024];
        const auto count = ::read(fd, piece, sizeof(piece));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return because_of(errno, path);
        if (count == 0) return text;
        if (text.size() + count > max_bytes)
            return api::invalid(
                "", path + " is larger than " + std::to_string(max_bytes) + " bytes: is it the right file?");
        text.append(piece, count);
    }
}

}  // namespace

api::Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
    const Descriptor file(path);
    if (file.fd < 0) return because_of(errno, path);
    struct stat status = {};
    if (::fstat(file.fd, &status) != 0) return because_of(errno, path);
    if (S_ISDIR(status.st_mode)) return api::invalid("", path + " is a directory: name a file");
    return read_all(file.fd, path, max_bytes);
}

api::Result<std::string> read_standard_input(std::size_t max_bytes) {
    return read_all(STDIN_FILENO, "standard input", max_bytes);
}

}  // namespace net
