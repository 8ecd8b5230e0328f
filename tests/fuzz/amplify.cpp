// Besides libFuzzer's own mutations, repeats a piece of the input up to the maximal length. Changes of single
// bytes do not reach limits of size, number and depth within an hour.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "input.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);

namespace {

constexpr unsigned one_in = 64;
constexpr std::size_t longest_piece = 256;

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
    std::minstd_rand random(seed);
    if (size == 0 || size >= max_size || random() % one_in != 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const std::size_t at = random() % size;
    const std::size_t length = 1 + random() % std::min(longest_piece, size - at);
    // Each order of magnitude is equally likely.
    const std::size_t times = std::min((max_size - size) / length, std::size_t{1} << (random() % 17));
    const std::vector<std::uint8_t> piece(data + at, data + at + length);
    std::memmove(data + at + times * length, data + at, size - at);
    for (std::size_t i = 0; i < times; ++i) std::memcpy(data + at + i * length, piece.data(), length);
    return size + times * length;
}
