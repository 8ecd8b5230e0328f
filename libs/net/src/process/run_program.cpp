#include "net/process/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <utility>

namespace net {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The maximum delay until the end of a program is noticed that has closed its output before, or left it to a
// child.
constexpr std::chrono::milliseconds tick{5};
constexpr std::chrono::seconds until_kill{2};

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_;
};

// A child process, ended at the latest by the destructor.
class Child {
public:
    explicit Child(pid_t pid) : pid_(pid) {}
    ~Child() {
        if (ended()) return;
        ::kill(pid_, SIGTERM);
        const auto deadline = SteadyClock::now() + until_kill;
        while (!ended() && SteadyClock::now() < deadline) ::poll(nullptr, 0, static_cast<int>(tick.count()));
        if (ended()) return;
        ::kill(pid_, SIGKILL);
        int ignored = 0;
        while (::waitpid(pid_, &ignored, 0) < 0 && errno == EINTR) {
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    bool ended() {
        if (ended_) return true;
        const pid_t found = ::waitpid(pid_, &status_, WNOHANG);
        ended_ = found == pid_ || (found < 0 && errno != EINTR);
        return ended_;
    }
    int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

private:
    pid_t pid_;
    int status_ = 0;
    bool ended_ = false;
};

api::Error failure(int number) {
    if (number == ENOENT) return {.code = api::Errc::not_found, .message = "was not found"};
    if (number == EACCES)
        return {.code = api::Errc::forbidden, .message = "may not be executed: give it the permission to"};
    return {.code = api::Errc::invalid,
            .message = std::string("cannot be executed: ") + std::strerror(number)};
}

// The names and values of posix_spawn(), which point into `texts`.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environment_of(const Program& program) {
    std::map<std::string, std::string> variables;
    for (char** each = ::environ; each && *each; ++each) {
        const std::string text = *each;
        const auto end = text.find('=');
        if (end != std::string::npos) variables.emplace(text.substr(0, end), text.substr(end + 1));
    }
    for (const auto& [name, value] : program.environment) variables[name] = value;
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
    return texts;
}

// Returns the process, whose standard output is `output`.
api::Result<pid_t> start(const Program& program, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!program.shares_stdin)
        ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // The program does not inherit the signals that this process ignores or blocks.
    sigset_t none, pipe;
    ::sigemptyset(&none);
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &pipe);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> arguments = program.arguments;
    arguments.insert(arguments.begin(), program.command);
    std::vector<std::string> environment = environment_of(program);
    pid_t pid = -1;
    const int failed = ::posix_spawnp(&pid, program.command.c_str(), &actions, &attributes,
                                      pointers_to(arguments).data(), pointers_to(environment).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed) return failure(failed);
    return pid;
}

// Appends the bytes that have arrived. Returns false at the end.
bool read_available(int fd, std::string& output) {
    std::array<char, 16 * 1024> piece;
    for (;;) {
        const ssize_t count = ::read(fd, piece.data(), piece.size());
        if (count > 0) output.append(piece.data(), static_cast<std::size_t>(count));
        if (count == 0) return false;
        if (count < 0 && errno == EINTR) continue;
        // One piece at a time: a program with endless output must not keep this loop busy.
        return count > 0 || errno == EAGAIN;
    }
}

}  // namespace

api::Result<ProgramResult> run_program(const Program& program) {
    if (program.command.empty()) return failure(ENOENT);
    int ends[2] = {};
    if (::pipe2(ends, O_CLOEXEC) != 0) return failure(errno);
    const Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    // Only this end is non-blocking: the program may not expect a non-blocking output.
    ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
    const auto pid = start(program, writing.get());
    if (!pid) return pid.error();
    Child child(*pid);
    writing.close();

    const auto deadline = SteadyClock::now() + program.time_limit;
    ProgramResult result;
    for (bool open = true;;) {
        pollfd readable = {.fd = open ? reading.get() : -1, .events = POLLIN, .revents = 0};
        ::poll(&readable, 1, static_cast<int>(tick.count()));
        // Checked before the last read: at its end, all of the program's output is in the pipe.
        const bool ended = child.ended();
        const std::size_t before = result.output.size();
        open = open && read_available(reading.get(), result.output);
        if (result.output.size() > program.most_output)
            return api::Error{
                .code = api::Errc::too_large,
                .message = "prints more than " + std::to_string(program.most_output) + " bytes"};
        if (ended && result.output.size() == before) break;
        if (SteadyClock::now() > deadline) {
            const auto seconds = std::chrono::ceil<std::chrono::seconds>(program.time_limit);
            return api::Error{.code = api::Errc::unavailable,
                              .message = "has not ended within " + std::to_string(seconds.count()) + "s"};
        }
    }
    result.status = child.status();
    return result;
}

}  // namespace net
