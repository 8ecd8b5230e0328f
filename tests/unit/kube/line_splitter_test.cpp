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

TEST_CASE("an object that is longer than any in etcd is an error, and takes no memory", "[kube]") {
    for (const std::size_t piece : {std::size_t(1), std::size_t(100'000), std::size_t(10'000'000)}) {
        kube::LineSplitter splitter;
        splitter.feed("a\n" + std::string(kube::LineSplitter::longest_object - 1, 'x'));
        CHECK(splitter.next() == "a");
        CHECK(!splitter.next());
        splitter.feed("x");
        CHECK(!splitter.next());
        CHECK_FALSE(splitter.is_too_long());
        splitter.feed(std::string(piece, 'x'));
        CHECK(!splitter.next());
        CHECK(splitter.is_too_long());
        splitter.feed("\nb\n");
        CHECK(!splitter.next());
    }
}

TEST_CASE("the output of a program is shown as it comes, in parts that are no longer than 64 KiB", "[kube]") {
    using Parts = std::vector<std::string>;
    const std::string stream = "t 1 %\rt 50 %\rdone\r\nt next\n\r\nlast\rhalf";
    const Parts want = {"t 1 %", "\rt 50 %", "\rdone", "t next", "last"};
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        kube::LineSplitter splitter(kube::Lines::output);
        Parts parts;
        for (const std::string& piece : {stream.substr(0, cut), stream.substr(cut)}) {
            splitter.feed(piece);
            for (auto& part : lines_of(splitter)) parts.push_back(part);
        }
        CHECK(parts == want);
    }
    constexpr std::size_t most = kube::LineSplitter::longest_output;
    kube::LineSplitter splitter(kube::Lines::output);
    splitter.feed(std::string(most, 'a'));
    CHECK(lines_of(splitter).empty());  // the next byte may belong to its last character
    splitter.feed(std::string(most - 1, 'b'));
    CHECK(lines_of(splitter) == Parts{std::string(most, 'a')});
    splitter.feed("\xc3\xa4\n");  // a character of two bytes, on the border
    CHECK(lines_of(splitter) == Parts{"\r" + std::string(most - 1, 'b'), "\r\xc3\xa4"});
    splitter.feed("c\n");
    CHECK(lines_of(splitter) == Parts{"c"});
    CHECK_FALSE(splitter.is_too_long());
}

TEST_CASE("the parts of a program's output do not depend on how it comes", "[kube]") {
    constexpr std::size_t most = kube::LineSplitter::longest_output;
    // A character of two bytes on the border of two parts.
    const std::string stream = std::string(most - 1, 'b') + "\xc3\xa4" + "c\n";
    const std::vector<std::string> want = {std::string(most - 1, 'b'),
                                           "\r\xc3\xa4"
                                           "c"};
    for (std::size_t cut = most - 2; cut <= stream.size(); ++cut) {
        INFO(cut);
        kube::LineSplitter splitter(kube::Lines::output);
        std::vector<std::string> parts;
        for (const std::string& piece : {stream.substr(0, cut), stream.substr(cut)}) {
            splitter.feed(piece);
            for (auto& part : lines_of(splitter)) parts.push_back(part);
        }
        CHECK(parts == want);
    }
}
