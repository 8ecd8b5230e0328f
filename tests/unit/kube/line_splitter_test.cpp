#include "kube/client/line_splitter.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace {

std::vector<std::string> lines_of(kube::LineSplitter& splitter) {
    std::vector<std::string> lines;
    while (auto line = splitter.next()) lines.push_back(*line);
    return lines;
}

}  // namespace

TEST_CASE("a stream of lines may be cut anywhere", "[kube]") {
    const std::string stream = "{\"a\":1}\n\r\n{\"b\":2}\r\n\n{\"c\":3}\n{\"half";
    const std::vector<std::string> want = {"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"};
    for (std::size_t first = 0; first <= stream.size(); ++first) {
        for (std::size_t second = first; second <= stream.size(); ++second) {
            kube::LineSplitter splitter;
            std::vector<std::string> lines;
            for (const std::string& piece :
                 {stream.substr(0, first), stream.substr(first, second - first), stream.substr(second)}) {
                splitter.feed(piece);
                for (auto& line : lines_of(splitter)) lines.push_back(line);
            }
            CHECK(lines == want);
        }
    }
}

TEST_CASE("lines may stay in the splitter", "[kube]") {
    kube::LineSplitter splitter;
    splitter.feed("a\nb\nc");
    CHECK(splitter.next() == "a");
    splitter.feed("d\n");
    CHECK(lines_of(splitter) == std::vector<std::string>{"b", "cd"});
    splitter.feed("");
    CHECK(!splitter.next());
}
