#pragma once
#include <memory>
#include <string>

#include "kube/client/api_server.hpp"
#include "logs/sources.hpp"
#include "text/text.hpp"

namespace cli {

/// Returns the path and query of a container's output. Every line begins with its time: lines of several Pods
/// can be merged, and no line is empty.
std::string log_target(const std::string& ns, const LogSource& source);

/// The output of one container, line by line.
class LogStream {
public:
    /// `target`: as log_target(). `prefix`: in front of each line. `server` must outlive the stream.
    LogStream(kube::ApiServer& server, std::unique_ptr<kube::Watch> watch, LogSource source,
              std::string target, std::string prefix);

    /// Reads the next line. Returns false at the end.
    kube::Async<bool> advance();

    const LogSource& source() const { return source_; }
    const std::string& stamp() const { return line_.stamp; }
    Text printed(Colours colours) const { return Text(prefix_) + Text::output(line_.text, colours); }

private:
    void take(const std::string& part);
    kube::Async<bool> read_last();

    kube::ApiServer* server_;
    std::unique_ptr<kube::Watch> watch_;
    LogSource source_;
    std::string target_;
    std::string prefix_;
    LogLine line_ = {};
};

}  // namespace cli
