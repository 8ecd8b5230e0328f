#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace net {

/// Handles of single series: cheap to copy, valid as long as their Metrics. Look a handle up once and keep
/// it; using it takes no lock. A default-constructed handle does nothing. Thread rule: any thread.
class Counter {
public:
    Counter() = default;
    void add(double amount = 1) noexcept;

private:
    friend class Metrics;
    explicit Counter(void* series) : series_(series) {}
    void* series_ = nullptr;
};

class Gauge {
public:
    Gauge() = default;
    void set(double value) noexcept;
    void add(double amount = 1) noexcept;

private:
    friend class Metrics;
    explicit Gauge(void* series) : series_(series) {}
    void* series_ = nullptr;
};

class Histogram {
public:
    Histogram() = default;
    void observe(double value) noexcept;

private:
    friend class Metrics;
    explicit Histogram(void* series) : series_(series) {}
    void* series_ = nullptr;
};

using Labels = std::vector<std::pair<std::string, std::string>>;

/// All series of a process. Handles hide prometheus-cpp, whose headers would cost each including source a
/// second of compile time. Thread rule: any thread.
class Metrics {
public:
    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    /// Returns the series of that name and those labels, and creates it on first use. A name has one type,
    /// one help text and at most `max_series` series. Beyond the limit every label value becomes "other", so
    /// that input from outside cannot fill the memory. Throws std::invalid_argument on a bad name, which is a
    /// bug.
    Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
    Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
    /// `bounds`: upper bounds of the buckets in ascending order, the same for every series of a name.
    Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                        const Labels& labels = {});

    /// Series whose value the caller keeps: expose() calls `read` on its thread. A counter's series skips
    /// decreases of the value, as after a restart from zero.
    void read_counter(const std::string& name, const std::string& help, std::function<double()> read,
                      const Labels& labels = {});
    void read_gauge(const std::string& name, const std::string& help, std::function<double()> read,
                    const Labels& labels = {});

    /// expose() calls `refresh` on its thread.
    void before_expose(std::function<void()> refresh);

    /// Returns all series in Prometheus' text format 0.0.4.
    std::string expose() const;

    static constexpr std::size_t max_series = 500;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Adds signalbox_build_info, process_resident_memory_bytes, process_cpu_seconds_total, process_open_fds and
/// process_start_time_seconds.
void add_process_metrics(Metrics& metrics);

}  // namespace net
