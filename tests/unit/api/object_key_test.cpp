#include "api/object_key.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <unordered_map>

namespace {

using api::ObjectKey;

template <class Map>
std::size_t fullest_bucket(const Map& map) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < map.bucket_count(); ++i) most = std::max(most, map.bucket_size(i));
    return most;
}

}  // namespace

TEST_CASE("names that collide in std::hash do not share a bucket", "[api]") {
    std::unordered_map<ObjectKey, int> map;
    map.reserve(500);
    const std::hash<std::string> of_library;
    for (int i = 0; map.size() < 400; ++i) {
        const ObjectKey key = {"tenant", "j" + std::to_string(i)};
        if ((of_library(key.ns) * 31 + of_library(key.name)) % map.bucket_count() == 7) map.emplace(key, i);
    }
    CHECK(fullest_bucket(map) < 20);
}

TEST_CASE("the hash of an object's key depends on both names and on the border between them", "[api]") {
    const std::hash<ObjectKey> hash;
    CHECK(hash({"a", "bc"}) == hash({"a", "bc"}));
    CHECK(hash({"a", "bc"}) != hash({"ab", "c"}));
    CHECK(hash({"", "abc"}) != hash({"abc", ""}));
    CHECK(hash({"a", "b"}) != hash({"b", "a"}));
}
