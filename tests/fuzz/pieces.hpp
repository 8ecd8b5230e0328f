#pragma once
#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>

/// Cuts a stream into pieces as a network may: from single bytes to 64 KiB, each order of magnitude as
/// likely. The seed decides the cuts. Long streams have few small pieces, so that none takes seconds.
class Pieces {
public:
    Pieces(std::string_view stream, unsigned seed)
        : rest_(stream), least_(1 + stream.size() / 4096), random_(seed + 1) {}

    /// Returns the next piece; "" at the end.
    std::string_view next() {
        const std::size_t most = std::max(least_, std::size_t{1} << (random_() % 17));
        const std::size_t size = std::min(rest_.size(), least_ + random_() % most);
        const std::string_view piece = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return piece;
    }

private:
    std::string_view rest_;
    std::size_t least_;
    std::minstd_rand random_;
};
