#include "api/nearest.hpp"

#include <catch2/catch.hpp>

using api::edit_distance;

TEST_CASE("the distance of two words is the number of characters to edit", "[nearest]") {
    struct Case {
        const char* from;
        const char* to;
        std::size_t most;
        std::size_t want;
    };
    const Case cases[] = {
        {"", "", 2, 0},
        {"a", "", 2, 1},
        {"abc", "abc", 0, 0},
        {"abc", "abd", 0, 1},
        {"abc", "abd", 2, 1},
        {"abc", "ab", 2, 1},
        {"abc", "xabc", 2, 1},
        {"abc", "cba", 2, 2},
        {"kitten", "sitting", 3, 3},
        {"kitten", "sitting", 2, 3},
        {"abcdef", "badcfe", 9, 4},
        {"a", "abcdefgh", 3, 4},
        {"abcdefgh", "efghabcd", 3, 4},
        {"flaw", "lawn", 9, 2},
    };
    for (const Case& c : cases) {
        CAPTURE(c.from, c.to, c.most);
        CHECK(edit_distance(c.from, c.to, c.most) == c.want);
        CHECK(edit_distance(c.to, c.from, c.most) == c.want);
    }
}

TEST_CASE("a bound changes no distance within it", "[nearest]") {
    const std::string words[] = {"",
                                 "torch",
                                 "troch",
                                 "torch-distributed",
                                 "torch-distribted",
                                 "mpi-distributed",
                                 "deepspeed-distributed",
                                 "pytorch"};
    for (const std::string& from : words)
        for (const std::string& to : words) {
            CAPTURE(from, to);
            const std::size_t exact = edit_distance(from, to, 100);
            for (const std::size_t most : {0, 1, 2, 3, 8, 30})
                CHECK(edit_distance(from, to, most) == std::min(exact, most + 1));
        }
}

TEST_CASE("the nearest word is found, if one is near", "[nearest]") {
    const auto nearest = [](std::string_view misspelt) {
        api::Nearest found(misspelt);
        for (const char* word : {"mpi-distributed", "torch-distributed", "torch-distributed-2", "jax", "max"})
            found.offer(word);
        return found.found();
    };
    CHECK(nearest("torch-distribted") == "torch-distributed");
    CHECK(nearest("torch-distributed-3") == "torch-distributed-2");
    CHECK(nearest("pytorch-distributed") == "torch-distributed");
    CHECK(nearest("jar") == "jax");
    CHECK(nearest("ax") == "jax");
    CHECK(nearest("xgb").empty());
    CHECK(nearest("").empty());
    CHECK(nearest("tensorflow").empty());
}
