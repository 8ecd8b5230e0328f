#include "cluster/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "api/names.hpp"

namespace cli {

Text log_line(std::string_view command, std::string_view text) {
    return Text::line("kubectl trainjob " + std::string(command) + ": " + std::string(text));
}

api::Result<Output> with_cluster(const ClusterSettings& settings, std::string_view command,
                                 const std::function<kube::Async<Output>(Session&)>& body) {
    auto config = find_cluster(settings);
    if (!config) return config.error();
    const std::string ns = config->ns;
    boost::asio::io_context context{1};
    const auto own_clock = kube::make_clock(context.get_executor());
    kube::ServerClock clock(*own_clock);
    const auto server = connect(context.get_executor(), clock, std::move(*config), settings);
    if (!server) return server.error();
    Session session = {.server = **server, .clock = clock, .ns = ns};
    api::Result<Output> outcome;
    std::exception_ptr thrown;
    boost::asio::co_spawn(context, body(session),
                          [&](std::exception_ptr failure, api::Result<Output> result) {
                              thrown = failure;
                              outcome = std::move(result);
                              context.stop();
                          });
    context.run();
    if (thrown) std::rethrow_exception(thrown);
    if (outcome) return std::move(*outcome);
    const bool is_usage = outcome.error().code == api::Errc::invalid && outcome.error().http_status == 0;
    return Output{.err = log_line(command, api::describe(outcome.error())), .status = is_usage ? 2 : 1};
}

api::Result<> check_interval(std::chrono::milliseconds interval) {
    constexpr std::chrono::milliseconds shortest{100};
    if (interval < shortest) return api::invalid("", "--interval must be at least 100ms");
    return {};
}

api::Result<api::ObjectKey> key_of(const std::string& text, const ClusterSettings& settings,
                                   const std::string& ns) {
    // As `list -o name` and kubectl print it. No namespace has a dot.
    for (const std::string_view kind : {"trainjob", "trainjobs"})
        if (const std::string prefix = std::string(kind) + "." + std::string(api::trainer_group) + "/";
            text.starts_with(prefix) && text.find('/', prefix.size()) == std::string::npos)
            return key_of(text.substr(prefix.size()), settings, ns);
    const auto slash = text.find('/');
    if (slash != std::string::npos) {
        api::ObjectKey key = {text.substr(0, slash), text.substr(slash + 1)};
        if (key.ns.empty() || key.name.empty() || key.name.find('/') != std::string::npos)
            return api::invalid("", text + ": must be NAMESPACE/NAME, or a NAME");
        if (!settings.ns.empty() && settings.ns != key.ns)
            return api::invalid("", text + " is not in the namespace " + settings.ns +
                                        " of --namespace: leave out one of them");
        return key;
    }
    if (text.empty()) return api::invalid("", "the name of the TrainJob is empty");
    return api::ObjectKey{ns, text};
}

}  // namespace cli
