#include <cstdio>

#include "api/text.hpp"
#include "text/duration.hpp"
#include "timeline/model.hpp"

namespace cli {
namespace {

constexpr int picture_width = 1000;
constexpr int margin = 16;
constexpr int name_width = 240;
constexpr int length_width = 80;
constexpr int row_height = 24;
constexpr int bar_left = margin + name_width + length_width;
constexpr int bar_width = picture_width - margin - bar_left;

std::string escaped(std::string_view text) {
    std::string out;
    const Text shown(text);
    for (std::string_view rest = shown.str(); !rest.empty();) {
        switch (const char32_t c = api::take_character(rest)) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            // XML has no such characters (XML 1.0, 2.2).
            case 0xFFFE:
            case 0xFFFF: out += "\uFFFD"; break;
            default: api::append_character(out, c);
        }
    }
    return out;
}

const char* colour_of(const Span& span) {
    if (span.tone == Tone::good) return "#2e7d32";
    if (span.tone == Tone::bad) return "#c62828";
    if (span.name == "scheduling") return "#f9a825";
    if (span.name == "image pulls") return "#6a1b9a";
    return span.name == "start" ? "#1565c0" : "#9e9e9e";
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

class Picture {
public:
    explicit Picture(const Timeline& timeline) : timeline_(timeline) {}

    void text(int x, std::string_view what, const char* more = "") {
        body_ += Text::line("<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y_ + 16) + "\"" +
                            more + ">" + escaped(what) + "</text>");
    }
    void bar(const Span& span) {
        const double begin = part(span.begin);
        const double width = std::max(part(span.end) - begin, is_moment(span) ? 0.004 : 0.001);
        body_ += Text::line("<rect x=\"" + number(bar_left + begin * bar_width) + "\" y=\"" +
                            std::to_string(y_ + 4) + "\" width=\"" + number(width * bar_width) +
                            "\" height=\"" + std::to_string(row_height - 8) + "\" fill=\"" + colour_of(span) +
                            "\"><title>" + escaped(label(span)) + "</title></rect>");
    }
    void next() { y_ += row_height; }
    void row(const Span& span, std::string_view length) {
        text(margin, span.name);
        text(margin + name_width, length);
        bar(span);
        next();
        if (span.note.empty()) return;
        text(bar_left, span.note, " fill=\"#c62828\"");
        next();
    }

    Text take() && {
        const std::string height = std::to_string(y_ + margin);
        const std::string width = std::to_string(picture_width);
        return Text::line("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" +
                          height + "\" viewBox=\"0 0 " + width + " " + height +
                          "\" font-family=\"sans-serif\" font-size=\"13\">") +
               Text::line("<rect width=\"" + width + "\" height=\"" + height + "\" fill=\"#ffffff\"/>") +
               body_ + Text::line("</svg>");
    }

    static bool is_moment(const Span& span) { return span.begin == span.end && !span.goes_on; }
    static std::string label(const Span& span) {
        if (is_moment(span)) return span.note;
        return span.name + ", " + format_duration(span.end - span.begin) + (span.goes_on ? " so far" : "");
    }

private:
    double part(api::Time at) const {
        const double whole = static_cast<double>((timeline_.end - timeline_.begin).count());
        return whole > 0 ? static_cast<double>((at - timeline_.begin).count()) / whole : 0;
    }

    const Timeline& timeline_;
    int y_ = margin;
    Text body_ = {};
};

}  // namespace

Text draw_svg(const Timeline& timeline) {
    Picture picture(timeline);
    picture.text(margin, timeline.title, " font-size=\"15\" font-weight=\"bold\"");
    picture.next();
    picture.text(bar_left, "0s");
    picture.text(picture_width - margin, format_duration(timeline.end - timeline.begin),
                 " text-anchor=\"end\"");
    picture.next();
    for (const Span& stage : timeline.stages)
        picture.row(stage, short_duration(stage.end - stage.begin) + (stage.goes_on ? "..." : ""));
    for (const Span& failure : timeline.failures)
        picture.row(failure, short_duration(failure.begin - timeline.begin));
    for (const NodeRow& node : timeline.nodes) {
        picture.text(margin, node.name);
        for (const Span& span : node.spans) picture.bar(span);
        picture.next();
    }
    for (const std::string& note : timeline.notes) {
        picture.text(margin, note);
        picture.next();
    }
    return std::move(picture).take();
}

}  // namespace cli
