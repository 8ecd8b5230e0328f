// The metrics of libs/net for a program that nothing scrapes. `check` runs the webhook's handler, which
// counts what it does. The linker takes these definitions in place of those in libs/net, and so neither
// prometheus-cpp nor the series. A member that is missing here makes the linker take both, and fail.
#include "net/process/metrics.hpp"

namespace net {

// Clang warns of members that no definition of a class uses.
void Counter::add(double) noexcept { (void)series_; }
void Gauge::set(double) noexcept { (void)series_; }
void Gauge::add(double) noexcept {}
void Histogram::observe(double) noexcept { (void)series_; }

class Metrics::Impl {};

Metrics::Metrics() = default;
Metrics::~Metrics() = default;

// Handles without a series do nothing, by their contract.
Counter Metrics::counter(const std::string&, const std::string&, const Labels&) { return {}; }
Gauge Metrics::gauge(const std::string&, const std::string&, const Labels&) { return {}; }
Histogram Metrics::histogram(const std::string&, const std::string&, const std::vector<double>&,
                             const Labels&) {
    return {};
}

void Metrics::read_counter(const std::string&, const std::string&, std::function<double()>, const Labels&) {}
void Metrics::read_gauge(const std::string&, const std::string&, std::function<double()>, const Labels&) {}
void Metrics::before_expose(std::function<void()>) {}
std::string Metrics::expose() const { return ""; }

}  // namespace net
