#include "cluster/plugin_host.hpp"

#include <unistd.h>

#include "net/process/run_program.hpp"

namespace cli {
namespace {

api::Result<std::string> run(const kube::ExecPlugin& plugin, const std::string& info, bool interactive) {
    net::Program program = {.command = plugin.command,
                            .arguments = plugin.args,
                            .environment = plugin.env,
                            .shares_stdin = interactive,
                            .time_limit = std::chrono::minutes(10)};
    program.environment.emplace_back("KUBERNETES_EXEC_INFO", info);
    auto result = net::run_program(program);
    if (!result) return result.error();
    if (result->status != 0)
        return api::invalid("", "ended with exit status " + std::to_string(result->status) +
                                    "; what it says of that is above");
    return std::move(result->output);
}

}  // namespace

kube::PluginHost plugin_host(kube::Clock& clock) {
    return {.run = run, .terminal = ::isatty(STDIN_FILENO) == 1, .wall = [&clock] { return clock.wall(); }};
}

}  // namespace cli
