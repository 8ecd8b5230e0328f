// A watch stream, and the output of a program that is followed: the first byte sets the cuts, which must have
// no effect. Also the same bytes as a list.
#include "cost.hpp"
#include "input.hpp"
#include "kube/client/line_splitter.hpp"
#include "kube/watch/watch_decoder.hpp"
#include "pieces.hpp"

namespace {

using kube::Lines;
using kube::LineSplitter;

struct Split {
    std::vector<std::string> lines = {};
    bool too_long = false;

    bool operator==(const Split&) const = default;
};

void take_lines(LineSplitter& splitter, Split& split) {
    while (auto line = splitter.next()) split.lines.push_back(std::move(*line));
    split.too_long = splitter.is_too_long();
}

Split split_whole(std::string_view stream, Lines kind) {
    LineSplitter splitter(kind);
    Split split;
    splitter.feed(stream);
    take_lines(splitter, split);
    return split;
}

Split split_pieces(std::string_view stream, Lines kind, unsigned seed) {
    LineSplitter splitter(kind);
    Split split;
    Pieces pieces(stream, seed);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
        splitter.feed(piece);
        take_lines(splitter, split);
    }
    return split;
}

// Every byte that is no line end is in one line, in its place.
void check_output(std::string_view stream, const std::vector<std::string>& lines) {
    for (std::string_view line : lines) {
        const bool continues = line.starts_with('\r');
        line.remove_prefix(continues ? 1 : 0);
        MUST_HOLD(!line.empty() && line.size() <= LineSplitter::longest_output);
        MUST_HOLD(line.find_first_of("\r\n") == line.npos);
        const auto at = stream.find_first_not_of("\r\n");
        MUST_HOLD(at != stream.npos && stream.substr(at).starts_with(line));
        stream.remove_prefix(at + line.size());
    }
    MUST_HOLD(stream.find_last_of("\r\n") == stream.npos ||
              stream.find_first_not_of("\r\n") >= stream.find_last_of("\r\n"));
}

void run(const std::uint8_t* data, std::size_t size) {
    const std::string_view stream = text_of(data, size).substr(1);
    const Split objects = split_whole(stream, Lines::objects);
    MUST_HOLD(objects == split_pieces(stream, Lines::objects, data[0]));
    const Split output = split_whole(stream, Lines::output);
    MUST_HOLD(!output.too_long && output == split_pieces(stream, Lines::output, data[0]));
    check_output(stream, output.lines);
    for (const std::string& line : objects.lines) {
        MUST_HOLD(line.size() <= LineSplitter::longest_object);
        const auto event = kube::decode_watch_line(line);
        if (!event) continue;
        using Type = kube::WatchEvent::Type;
        const bool of_object = event->type == Type::upsert || event->type == Type::removed;
        MUST_HOLD(!of_object || (!event->key.name.empty() && !event->resource_version.empty()));
    }
    (void)kube::decode_list_page(stream);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 20000}, size, [&] { run(data, size); });
}
