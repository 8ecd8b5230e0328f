#include "api/hash.hpp"

#include <bit>
#include <cstring>
#include <random>

namespace api {
namespace {

struct State {
    std::uint64_t a, b, c, d;

    void round() {
        a += b;
        b = std::rotl(b, 13) ^ a;
        a = std::rotl(a, 32);
        c += d;
        d = std::rotl(d, 16) ^ c;
        a += d;
        d = std::rotl(d, 21) ^ a;
        c += b;
        b = std::rotl(b, 17) ^ c;
        c = std::rotl(c, 32);
    }
    void take(std::uint64_t word) {
        d ^= word;
        round();
        round();
        a ^= word;
    }
};

// Reads a little-endian number.
std::uint64_t word_of(std::string_view bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
    return word;
}

HashKey random_key() {
    std::random_device random;
    const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
    const std::uint64_t low = word();
    return {low, word()};
}

HashKey& process_key() {
    static HashKey key = random_key();
    return key;
}

}  // namespace

std::uint64_t siphash(const HashKey& key, std::string_view bytes) {
    State state = {key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d, key.low ^ 0x6c7967656e657261,
                   key.high ^ 0x7465646279746573};
    const std::uint64_t length = bytes.size();
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
        if constexpr (std::endian::native == std::endian::little) {
            std::uint64_t word;
            std::memcpy(&word, bytes.data(), sizeof word);
            state.take(word);
        } else {
            state.take(word_of(bytes.substr(0, 8)));
        }
    }
    state.take(length << 56 | word_of(bytes));
    state.c ^= 0xff;
    for (int i = 0; i < 4; ++i) state.round();
    return state.a ^ state.b ^ state.c ^ state.d;
}

std::uint64_t keyed_hash(std::string_view bytes) { return siphash(process_key(), bytes); }

std::uint64_t keyed_hash(std::string_view first, std::string_view second) {
    HashKey key = process_key();
    key.low ^= siphash(key, first);
    return siphash(key, second);
}

void fix_hash_key(const HashKey& key) { process_key() = key; }

}  // namespace api
