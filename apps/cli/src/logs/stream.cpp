#include "logs/stream.hpp"

#include <utility>

namespace cli {
namespace {

constexpr std::size_t longest_last = 1024 * 1024;

// A node that has no output any more answers 200, and says so in words without a time.
api::Result<> check_stamp(const std::string& text) {
    if (text.empty() || text.front() == '\r' || (text.front() >= '0' && text.front() <= '9'))
        return api::Result<>();
    return api::Error{.code = api::Errc::not_found, .message = "its node does not have the output: " + text};
}

}  // namespace

std::string log_target(const std::string& ns, const LogSource& source) {
    return kube::path(kube::resources::pods, {ns, source.pod}) +
           "/log?timestamps=true&container=" + kube::percent_encode(source.container);
}

LogStream::LogStream(kube::ApiServer& server, std::unique_ptr<kube::Watch> watch, LogSource source,
                     std::string target, std::string prefix)
    : server_(&server),
      watch_(std::move(watch)),
      source_(std::move(source)),
      target_(std::move(target)),
      prefix_(std::move(prefix)) {}

kube::Async<bool> LogStream::advance() {
    if (!watch_) co_return false;
    auto line = co_await watch_->next();
    if (!line) co_return line.error();
    if (line->empty()) {
        watch_.reset();
        co_return co_await read_last();
    }
    if (auto stamped = check_stamp(*line); !stamped) co_return stamped.error();
    take(*line);
    co_return true;
}

// A part that continues a line has the time of its beginning.
void LogStream::take(const std::string& part) {
    if (part.starts_with('\r'))
        line_.text = part.substr(1);
    else
        line_ = log_line(part);
}

// A watch drops a last line without its end.
kube::Async<bool> LogStream::read_last() {
    kube::Request request = {.target = target_ + "&tailLines=1", .accept = "*/*"};
    request.max_answer = longest_last;
    auto answer = co_await server_->send(std::move(request));
    if (!answer || answer->body.empty() || answer->body.ends_with('\n')) co_return false;
    if (auto stamped = check_stamp(answer->body); !stamped) co_return stamped.error();
    LogLine last = log_line(answer->body);
    if (last.stamp <= line_.stamp) co_return false;
    line_ = std::move(last);
    co_return true;
}

}  // namespace cli
