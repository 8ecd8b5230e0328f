#include "explain/progress.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "api/progress.hpp"
#include "job/brief.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/state.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

using api::Json;
using std::chrono::seconds;

using api::progress_action_annotation;
using api::progress_seconds_annotation;
constexpr std::size_t most_metrics = 8;
constexpr std::size_t bar_columns = 20;

std::string text_of(const Json& json) { return std::string(json.as_string()); }

std::string ago(api::Time then, api::Time now) { return format_duration(since(then, now)) + " ago"; }

// The limit and the action, or why they count as none.
ProgressDeadline wish_of(const api::ProgressAnnotations& wanted) {
    ProgressDeadline wish = {.action = wanted.action.value_or("Warn")};
    if (const auto limit = api::parse_progress_deadline(wanted))
        wish.seconds = limit->seconds;
    else
        wish.remark = "none: " + api::describe(api::progress_deadline_errors(wanted));
    return wish;
}

// Returns why the clock of the deadline does not run; empty: it does.
std::string not_armed(const api::TrainJob& job, const Progress& progress) {
    if (lifecycle::state_of(job) == lifecycle::State::elsewhere) return "another controller manages the job";
    const auto start = lifecycle::last_start(job.conditions, job.meta.creation);
    if (job.suspend || !start) return "the job is suspended";
    if (!progress.reported) return "the job has not reported yet";
    if (!progress.advanced || *progress.advanced < *start)
        return "the job has not reported since its last start";
    return "";
}

// Sets when the deadline passes. The Lease says since when reports have been accepted without interruption.
void set_end(ProgressDeadline& deadline, const RelatedObjects& seen, api::Time advanced, api::Time now) {
    const std::string lease = "the lease " + to_string(seen.progress_lease_key);
    api::Time base = advanced;
    if (seen.progress_lease.is_unread()) {
        deadline.remark = "or later: " + lease + " could not be read";
    } else {
        const auto availability = lifecycle::availability_of(seen.progress_lease.found);
        if (!lifecycle::is_valid(availability, now)) {
            deadline.remark = "no server of progress renews " + lease;
            return;
        }
        base = std::max(base, *availability.since);
    }
    deadline.passes = base + seconds(deadline.seconds) + lifecycle::progress_grace;
}

Line deadline_line(const ProgressDeadline& deadline, api::Time now) {
    std::string text = "progress deadline ";
    if (deadline.seconds == 0) return {text + deadline.remark, Tone::held};
    text += format_duration(seconds(deadline.seconds)) + ", then " + deadline.action + ": ";
    if (!deadline.passes)
        return {text + (deadline.armed ? "no verdict: " : "not armed: ") + deadline.remark, Tone::held};
    const bool passed = *deadline.passes <= now;
    text +=
        passed ? "passed " + ago(*deadline.passes, now) : format_duration(*deadline.passes - now) + " left";
    if (!deadline.remark.empty()) text += ", " + deadline.remark;
    return {text, passed ? Tone::bad : Tone::plain};
}

Line summary_line(const Progress& progress, bool ended, api::Time now, const Terminal& terminal) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (progress.percent) {
        const double part = static_cast<double>(*progress.percent) / 100;
        const std::string drawn =
            terminal.is_terminal ? bar(0, part, bar_columns, terminal.glyphs) + " " : "";
        add(drawn + std::to_string(*progress.percent) + "%");
    }
    const auto left = remaining_time(progress, now);
    if (left && !ended) add(format_duration(*left) + " left");
    const bool stale = !ended && now - *progress.reported > stale_report;
    add((stale ? "nothing reported since " : "reported ") + ago(*progress.reported, now));
    if (progress.advanced && !ended) add("last progress " + ago(*progress.advanced, now));
    return {text, stale ? Tone::held : Tone::plain};
}

// The reported end beside the active deadline.
std::optional<Line> end_line(const Progress& progress, const lifecycle::Observed& observed, api::Time now) {
    const auto left = remaining_time(progress, now);
    const auto deadline = lifecycle::deadline(observed);
    if (!left || !deadline) return std::nullopt;
    const api::Time end = now + *left;
    if (end <= *deadline) return Line{"ends " + format_duration(*deadline - end) + " before its deadline"};
    return Line{"ends " + format_duration(end - *deadline) + " after its deadline", Tone::bad};
}

std::optional<Line> metrics_line(const Json& metrics) {
    std::string text;
    std::size_t count = 0;
    for (const Json& metric : metrics.items())
        if (++count <= most_metrics)
            text += (text.empty() ? "" : ", ") + text_of(metric["name"]) + " " + text_of(metric["value"]);
    if (count == 0) return std::nullopt;
    if (count > most_metrics) text += ", and " + std::to_string(count - most_metrics) + " more";
    return Line{text};
}

}  // namespace

bool has_progress_deadline(const Json& train_job) {
    const Json& annotations = train_job["metadata"]["annotations"];
    return !annotations[progress_seconds_annotation].is_null() ||
           !annotations[progress_action_annotation].is_null();
}

std::optional<ProgressDeadline> progress_deadline_of(const RelatedObjects& seen, const api::TrainJob& job,
                                                     api::Time now) {
    if (!has_progress_deadline(seen.job) || api::terminal_condition(job)) return std::nullopt;
    ProgressDeadline deadline = wish_of(job.progress_annotations);
    if (deadline.seconds == 0) return deadline;
    const Progress progress = progress_of(seen.job);
    deadline.remark = not_armed(job, progress);
    deadline.armed = deadline.remark.empty();
    if (deadline.armed) set_end(deadline, seen, *progress.advanced, now);
    return deadline;
}

std::vector<Line> progress_lines(const RelatedObjects& seen, const lifecycle::Observed& observed,
                                 api::Time now, const Terminal& terminal) {
    std::vector<Line> lines;
    const auto add = [&lines](std::optional<Line> line) {
        if (line) lines.push_back(std::move(*line));
    };
    const Progress progress = progress_of(seen.job);
    const bool ended = api::terminal_condition(*observed.job) != nullptr;
    if (progress.reported) {
        add(summary_line(progress, ended, now, terminal));
        if (!ended) add(end_line(progress, observed, now));
        add(metrics_line(seen.job["status"]["trainerStatus"]["metrics"]));
    }
    if (const auto deadline = progress_deadline_of(seen, *observed.job, now))
        add(deadline_line(*deadline, now));
    return lines;
}

}  // namespace cli
