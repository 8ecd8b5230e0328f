#include <algorithm>

#include "text/duration.hpp"
#include "text/terminal.hpp"
#include "timeline/model.hpp"

namespace cli {
namespace {

constexpr std::size_t columns_of_a_pipe = 100;
constexpr std::size_t fewest_bar_columns = 10;
constexpr std::size_t longest_name = 32;
constexpr std::size_t length_columns = 9;
constexpr std::size_t most_nodes = 16;

class Drawing {
public:
    Drawing(const Timeline& timeline, const Terminal& terminal, std::size_t name_columns)
        : timeline_(timeline), terminal_(terminal), name_columns_(name_columns) {
        const std::size_t all = terminal.columns > 0 ? terminal.columns : columns_of_a_pipe;
        const std::size_t taken = name_columns + length_columns + 3;
        bar_columns_ = std::max(all > taken ? all - taken : 0, fewest_bar_columns);
    }

    void line(const std::string& name, const std::string& length, const Text& bar) {
        const std::string shown = padded(cut(Text(name).str(), name_columns_), name_columns_);
        text_ += Text(shown + "  " + padded(length, length_columns) + " ") + bar;
        text_.end_line();
    }
    void span(const Span& span) {
        const std::string length = short_duration(span.end - span.begin) + (span.goes_on ? "..." : "");
        row(span, length, part(span.end));
    }
    // A moment, as long after the beginning.
    void failure(const Span& span) {
        constexpr double little = 1e-6;
        row(span, short_duration(span.begin - timeline_.begin), part(span.begin) + little);
    }
    // For a Pod, from its creation to its present stage.
    void node(const NodeRow& row) {
        if (row.spans.empty()) return line(row.name, "", {});
        const Span& last = row.spans.back();
        Span whole = {.name = row.name, .begin = row.spans.front().begin, .end = last.end, .tone = last.tone};
        const bool runs = last.tone != Tone::held;
        whole.begin = runs ? last.begin : whole.begin;
        whole.goes_on = last.goes_on;
        span(whole);
    }
    void heading(const std::string& text) { text_ += Text::line(text); }
    void axis() {
        const std::string end = short_duration(timeline_.end - timeline_.begin);
        std::string scale = padded("0s", bar_columns_ > end.size() ? bar_columns_ - end.size() : 0) + end;
        line("", "", Text(scale));
    }
    Text take() && { return std::move(text_); }

private:
    void row(const Span& span, const std::string& length, double end) {
        const std::string filled = bar(part(span.begin), end, bar_columns_, terminal_.glyphs);
        line(span.name, length, Text::painted(filled, span.tone, terminal_.colours));
        if (span.note.empty()) return;
        text_ += Text(std::string(name_columns_ + length_columns + 3, ' ')) +
                 Text::painted("^ " + span.note, span.tone, terminal_.colours);
        text_.end_line();
    }
    double part(api::Time at) const {
        const double whole = static_cast<double>((timeline_.end - timeline_.begin).count());
        return whole > 0 ? static_cast<double>((at - timeline_.begin).count()) / whole : 0;
    }

    const Timeline& timeline_;
    const Terminal& terminal_;
    std::size_t name_columns_;
    std::size_t bar_columns_ = 0;
    Text text_ = {};
};

}  // namespace

Text draw_text(const Timeline& timeline, const Terminal& terminal) {
    const std::size_t nodes = std::min(timeline.nodes.size(), most_nodes);
    std::size_t name_columns = 8;
    for (const std::vector<Span>* rows : {&timeline.stages, &timeline.failures})
        for (const Span& each : *rows) name_columns = std::max(name_columns, width_of(each.name));
    for (std::size_t i = 0; i < nodes; ++i)
        name_columns = std::max(name_columns, std::min(width_of(timeline.nodes[i].name), longest_name));
    Drawing drawing(timeline, terminal, name_columns);
    drawing.heading(timeline.title);
    drawing.axis();
    for (const Span& stage : timeline.stages) drawing.span(stage);
    for (const Span& failure : timeline.failures) drawing.failure(failure);
    if (nodes > 0) drawing.heading("Pods");
    for (std::size_t i = 0; i < nodes; ++i) drawing.node(timeline.nodes[i]);
    if (timeline.nodes.size() > nodes)
        drawing.heading("and " + std::to_string(timeline.nodes.size() - nodes) + " more");
    for (const std::string& note : timeline.notes) drawing.heading("Note: " + note);
    return std::move(drawing).take();
}

}  // namespace cli
