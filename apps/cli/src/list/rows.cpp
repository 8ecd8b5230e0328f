#include "list/rows.hpp"

#include <algorithm>

#include "job/targets.hpp"
#include "text/duration.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

using api::Json;

constexpr std::size_t bar_columns = 10;

Cell progress_cell(const Brief& job, api::Time now, const Terminal& terminal) {
    if (!job.progress.percent) return {};
    const double part = static_cast<double>(*job.progress.percent) / 100;
    std::string text = terminal.is_terminal ? bar(0, part, bar_columns, terminal.glyphs) + " " : "";
    text += std::to_string(*job.progress.percent) + "%";
    const bool stale = !job.ended && job.progress.reported && now - *job.progress.reported > stale_report;
    return {text + (stale ? " stale" : ""), stale ? Tone::held : Tone::plain};
}

Cell remaining_cell(const Brief& job, api::Time now) {
    const auto left = remaining_time(job.progress, now);
    return {left && !job.ended ? short_duration(*left) : ""};
}

Cell nodes_cell(const Brief& job) {
    const std::string wanted = std::to_string(job.nodes.wanted);
    if (!job.nodes.ready) return {wanted};
    const bool all = *job.nodes.ready >= job.nodes.wanted;
    return {std::to_string(*job.nodes.ready) + "/" + wanted, all ? Tone::plain : Tone::held};
}

Cell left_cell(const std::optional<api::Time>& end, api::Time now) {
    if (!end) return {};
    if (*end <= now) return {"passed", Tone::bad};
    return {short_duration(*end - now)};
}

// What failed is behind many words of the condition.
Cell message_cell(const Brief& job) { return {job.failure.empty() ? job.message : job.failure}; }

struct Column {
    const char* title;
    Cell (*cell)(const Brief& job, api::Time now, const Terminal& terminal);
    bool only_wide = false;
};

const Column columns[] = {
    {"NAME", [](const Brief& j, api::Time, const Terminal&) { return Cell{j.key.name}; }},
    {"STATE",
     [](const Brief& j, api::Time now, const Terminal&) {
         return Cell{text_of(j.state, now), j.state.tone};
     }},
    {"PROGRESS", progress_cell},
    {"ETA", [](const Brief& j, api::Time now, const Terminal&) { return remaining_cell(j, now); }},
    {"NODES", [](const Brief& j, api::Time, const Terminal&) { return nodes_cell(j); }},
    {"GPUS", [](const Brief& j, api::Time,
                const Terminal&) { return Cell{j.gpus > 0 ? std::to_string(j.gpus) : ""}; }},
    {"AGE", [](const Brief& j, api::Time now,
               const Terminal&) { return Cell{short_duration(since(j.created, now))}; }},
    {"DEADLINE", [](const Brief& j, api::Time now, const Terminal&) { return left_cell(j.deadline, now); }},
    {"TTL", [](const Brief& j, api::Time now, const Terminal&) { return left_cell(j.expires, now); }},
    {"QUEUE", [](const Brief& j, api::Time, const Terminal&) { return Cell{j.queue}; }},
    {"RUNTIME", [](const Brief& j, api::Time, const Terminal&) { return Cell{j.runtime}; }, true},
    {"REASON", [](const Brief& j, api::Time, const Terminal&) { return Cell{j.reason}; }, true},
    {"MESSAGE", [](const Brief& j, api::Time, const Terminal&) { return message_cell(j); }, true},
};

}  // namespace

Text list_table(std::span<const Brief> jobs, api::Time now, const TableStyle& style) {
    std::vector<std::string> heading;
    std::vector<std::vector<Cell>> rows(jobs.size());
    const auto add = [&](const char* title, const auto& cell_of) {
        std::vector<Cell> cells;
        for (const Brief& job : jobs) cells.push_back(cell_of(job));
        const bool empty =
            std::all_of(cells.begin(), cells.end(), [](const Cell& c) { return c.text.empty(); });
        if (style.terminal.is_terminal && empty) return;
        heading.emplace_back(title);
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(std::move(cells[i]));
    };
    if (style.namespaces) add("NAMESPACE", [](const Brief& job) { return Cell{job.key.ns}; });
    for (const Column& column : columns)
        if (style.wide || !column.only_wide)
            add(column.title, [&](const Brief& job) { return column.cell(job, now, style.terminal); });
    return table(heading, std::move(rows), style.terminal.colours, style.wide ? 0 : style.terminal.columns,
                 style.heading);
}

Json list_document(std::span<const Brief> jobs) {
    Json::Array items;
    items.reserve(jobs.size());
    for (const Brief& job : jobs) items.push_back(list_row(job));
    return Json::object({{"items", std::move(items)}});
}

Text list_names(std::span<const Brief> jobs) {
    Text text;
    for (const Brief& job : jobs) text += Text::line(printed_name(job));
    return text;
}

}  // namespace cli
