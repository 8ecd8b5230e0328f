// A kubeconfig of any content: a configuration, or an error that names the file.
#include "cost.hpp"
#include "input.hpp"
#include "kube/client/config.hpp"

namespace {

void run(const std::uint8_t* data, std::size_t size) {
    const auto config = kube::parse_kubeconfig(text_of(data, size), "/home/config");
    if (config)
        MUST_HOLD(!config->host.empty() && !config->port.empty());
    else
        MUST_HOLD(config.error().message.starts_with("/home/config"));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 20000}, size, [&] { run(data, size); });
}
