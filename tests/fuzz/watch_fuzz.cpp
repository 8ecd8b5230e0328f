// A watch stream: the first byte sets the sizes of reads, which must have no effect. Also the same bytes as a
// list.
#include "input.hpp"
#include "kube/client/line_splitter.hpp"
#include "kube/watch/watch_decoder.hpp"

namespace {

std::vector<std::string> lines_of(std::string_view stream, std::size_t piece) {
    kube::LineSplitter splitter;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        splitter.feed(stream.substr(at, piece));
        while (auto line = splitter.next()) lines.push_back(std::move(*line));
    }
    return lines;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view stream = text_of(data, size).substr(1);
    const auto lines = lines_of(stream, 1 + data[0] % 64u);
    MUST_HOLD(lines == lines_of(stream, stream.size() + 1));
    for (const std::string& line : lines) {
        const auto event = kube::decode_watch_line(line);
        if (!event) continue;
        using Type = kube::WatchEvent::Type;
        const bool of_object = event->type == Type::upsert || event->type == Type::removed;
        MUST_HOLD(!of_object || (!event->key.name.empty() && !event->resource_version.empty()));
    }
    (void)kube::decode_list_page(stream);
    return 0;
}
