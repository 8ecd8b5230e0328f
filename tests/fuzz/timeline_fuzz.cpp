// The times of a TrainJob as lines and as a picture: the first byte is the width of the terminal, the lines
// of the rest are the TrainJob, its JobSet, a Job, a Pod and an event, as an API server with any content
// sends them. The same text is also every name and note of a picture.
#include "cost.hpp"
#include "input.hpp"
#include "shown.hpp"
#include "timeline/model.hpp"
#include "xml_rules.hpp"

namespace {

using namespace cli;

constexpr api::Time now = api::Time(std::chrono::seconds(1'800'000'000));

void draw(const Timeline& timeline, std::size_t columns) {
    const std::string picture = draw_svg(timeline).str();
    const std::string broken = broken_xml(picture);
    if (!broken.empty()) std::fprintf(stderr, "%s\n", broken.c_str());
    MUST_HOLD(broken.empty());
    MUST_HOLD(is_harmless(picture, true));
    for (const Colours colours : {Colours::no, Colours::yes}) {
        const Terminal terminal = {.is_terminal = true, .colours = colours, .columns = columns};
        MUST_HOLD(is_harmless(without_colours(draw_text(timeline, terminal).str()), true));
    }
}

void run(const std::uint8_t* data, std::size_t size) {
    const std::string_view raw = text_of(data, size).substr(1);
    auto trees = trees_of(raw, 5);
    const TimelineObjects seen = {.job = std::move(trees[0]),
                                  .job_set = std::move(trees[1]),
                                  .jobs = {std::move(trees[2])},
                                  .pods = {std::move(trees[3])},
                                  .events = {std::move(trees[4])}};
    draw(timeline_of(seen, now), data[0]);
    const std::string text(raw);
    const Span span = {.name = text,
                       .begin = now - std::chrono::seconds(raw.size()),
                       .end = now,
                       .tone = static_cast<Tone>(data[0] % 5),
                       .goes_on = data[0] % 2 == 0,
                       .note = text};
    draw({.title = text,
          .begin = span.begin,
          .end = now,
          .stages = {span},
          .nodes = {{.name = text, .spans = {span}}},
          .notes = {text}},
         data[0]);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    return at_cost({.bytes_per_byte = 2000, .nanoseconds_per_byte = 80000}, size, [&] { run(data, size); });
}
