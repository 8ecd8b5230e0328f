#include "kube/manager/clock_watch.hpp"

namespace kube {
namespace {

double in_seconds(kube::ClockSkew::Duration skew) { return std::chrono::duration<double>(skew).count(); }

}  // namespace

ClockWatch::ClockWatch(net::Log& log, net::Metrics& metrics) : log_(log) {
    metrics.read_gauge(
        "signalbox_clock_skew_seconds",
        "How far the clock of this process is ahead of the API server's, at least; negative: behind.",
        [this] { return in_seconds(skew_.estimate()); });
}

void ClockWatch::note(const kube::DatedAnswer& answer) {
    const auto change = skew_.note(answer);
    if (change == kube::ClockSkew::Transition::none) return;
    const double seconds = in_seconds(skew_.estimate());
    if (change == kube::ClockSkew::Transition::over)
        log_.info("the clock of this process agrees with the API server's again",
                  {{"seconds_ahead", seconds}});
    else
        log_.warn(seconds > 0 ? "the clock of this process is ahead of the API server's: deadlines and times "
                                "to live may end early by as much; synchronise the clock of its node"
                              : "the clock of this process is behind the API server's: deadlines and times "
                                "to live may end late by as much; synchronise the clock of its node",
                  {{"seconds_ahead", seconds}});
}

}  // namespace kube
