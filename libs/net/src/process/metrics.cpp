#include "net/process/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

namespace net {

void Counter::add(double amount) noexcept {
    if (series_) static_cast<prometheus::Counter*>(series_)->Increment(amount);
}
void Gauge::set(double value) noexcept {
    if (series_) static_cast<prometheus::Gauge*>(series_)->Set(value);
}
void Gauge::add(double amount) noexcept {
    if (series_) static_cast<prometheus::Gauge*>(series_)->Increment(amount);
}
void Histogram::observe(double value) noexcept {
    if (series_) static_cast<prometheus::Histogram*>(series_)->Observe(value);
}

template <class T>
struct Group {
    prometheus::Family<T>* family = nullptr;
    std::size_t series = 0;
};

class Metrics::Impl {
public:
    template <class T, class Builder, class... Bounds>
    T& series(std::map<std::string, Group<T>>& groups, const Builder& builder, const std::string& name,
              const std::string& help, const Labels& labels, const Bounds&... bounds) {
        const std::lock_guard lock(mutex_);
        prometheus::Labels wanted;
        for (const auto& [key, value] : labels) wanted[key] = value;
        auto& group = groups[name];
        if (!group.family) group.family = &builder().Name(name).Help(help).Register(registry_);
        if (!group.family->Has(wanted)) {
            if (group.series >= max_series)
                for (auto& [key, value] : wanted) value = "other";
            else
                ++group.series;
        }
        return group.family->Add(wanted, bounds...);
    }

    void before_expose(std::function<void()> refresh) {
        const std::lock_guard lock(mutex_);
        refreshers_.push_back(std::make_shared<std::function<void()>>(std::move(refresh)));
    }

    std::string expose() const {
        std::vector<std::shared_ptr<std::function<void()>>> refreshers;
        {
            // A refresher may look up series, which takes the lock.
            const std::lock_guard lock(mutex_);
            refreshers = refreshers_;
        }
        {
            const std::lock_guard lock(refreshing_);
            for (const auto& refresh : refreshers) (*refresh)();
        }
        std::ostringstream out;
        prometheus::TextSerializer().Serialize(out, registry_.Collect());
        return std::move(out).str();
    }

    std::map<std::string, Group<prometheus::Counter>> counters;
    std::map<std::string, Group<prometheus::Gauge>> gauges;
    std::map<std::string, Group<prometheus::Histogram>> histograms;

private:
    mutable std::mutex mutex_;
    mutable std::mutex refreshing_;
    prometheus::Registry registry_;
    std::vector<std::shared_ptr<std::function<void()>>> refreshers_;  // shared, since a refresher has a state
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
    return Counter(&impl_->series(impl_->counters, prometheus::BuildCounter, name, help, labels));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
    return Gauge(&impl_->series(impl_->gauges, prometheus::BuildGauge, name, help, labels));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& bounds, const Labels& labels) {
    return Histogram(
        &impl_->series(impl_->histograms, prometheus::BuildHistogram, name, help, labels, bounds));
}

void Metrics::read_counter(const std::string& name, const std::string& help, std::function<double()> read,
                           const Labels& labels) {
    before_expose([series = counter(name, help, labels), read = std::move(read), last = 0.0]() mutable {
        const double now = read();
        const double more = now - std::exchange(last, now);
        if (more > 0) series.add(more);
    });
}

void Metrics::read_gauge(const std::string& name, const std::string& help, std::function<double()> read,
                         const Labels& labels) {
    before_expose(
        [series = gauge(name, help, labels), read = std::move(read)]() mutable { series.set(read()); });
}

void Metrics::before_expose(std::function<void()> refresh) { impl_->before_expose(std::move(refresh)); }
std::string Metrics::expose() const { return impl_->expose(); }

}  // namespace net
