#include "review_budget.hpp"

namespace webhook {
namespace {

// Measured: numbers and empty containers take 80 bytes while they are read, members twice that.
constexpr std::size_t bytes_per_value = 80;
// Twice those of a TrainJob of 8 KiB.
constexpr std::size_t uncounted_values = 1'000;

}  // namespace

std::optional<ReviewBudget::Share> ReviewBudget::take(std::size_t values) {
    const std::size_t bytes = values > uncounted_values ? values * bytes_per_value : 0;
    if (waiting_ >= count_) return std::nullopt;
    if (bytes > 0 && taken_ > 0 && taken_ + bytes > bytes_) return std::nullopt;
    return Share(*this, bytes);
}

}  // namespace webhook
