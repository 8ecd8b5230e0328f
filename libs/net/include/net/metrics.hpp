#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace net {

/// Handles of single series: cheap to copy, valid as long as their Metrics. Look them up once and keep them;
/// using one takes no lock. Thread rule: any thread. A default-constructed one does nothing.
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

/// All series of a process. (prometheus-cpp does the work; its headers would cost every user a second of
/// compile time, so handles hide it.) Thread rule: any thread.
class Metrics {
public:
    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    /// The series of that name and those labels; made on first use. A name has one type, one help text and
    /// at most `max_series` series: beyond that, every label value reads "other", so that no input from
    /// outside can fill the memory. Throws std::invalid_argument on bad names: a bug.
    Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
    Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
    /// `bounds`: upper bounds of the buckets, ascending; the same for every series of a name.
    Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                        const Labels& labels = {});

    /// Series that somebody else keeps: expose() asks for their value, on its thread. What a counter loses,
    /// as when it starts again from zero, is left out of its series.
    void read_counter(const std::string& name, const std::string& help, std::function<double()> read,
                      const Labels& labels = {});
    void read_gauge(const std::string& name, const std::string& help, std::function<double()> read,
                    const Labels& labels = {});

    /// Called by expose(), on its thread.
    void before_expose(std::function<void()> refresh);

    /// Prometheus' text format 0.0.4.
    std::string expose() const;

    static constexpr std::size_t max_series = 500;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// signalbox_build_info, process_resident_memory_bytes, process_cpu_seconds_total, process_open_fds,
/// process_start_time_seconds.
void add_process_metrics(Metrics& metrics);

}  // namespace net
