#include "review_budget.hpp"

#include <algorithm>

namespace webhook {
namespace {

// Measured: numbers and empty containers take 80 bytes while they are read, members twice that.
constexpr std::size_t bytes_per_value = 80;
// Twice those of a TrainJob of 8 KiB.
constexpr std::size_t uncounted_values = 1'000;

}  // namespace

std::optional<ReviewBudget::Share> ReviewBudget::take(std::size_t values, std::string_view client) {
    const std::size_t bytes = values > uncounted_values ? values * bytes_per_value : 0;
    if (waiting_ >= count_) return std::nullopt;
    if (bytes > 0 && taken_ > 0 && taken_ + bytes > bytes_) return std::nullopt;
    auto of = held_.find(client);
    const std::size_t held = of == held_.end() ? 0 : of->second;
    const std::size_t left_by_others = count_ - (waiting_ - held);
    if (!client.empty() && held >= std::max<std::size_t>(left_by_others / 2, 1)) return std::nullopt;
    if (of == held_.end()) of = held_.emplace(client, 0).first;
    ++of->second;
    taken_ += bytes;
    ++waiting_;
    return Share(*this, bytes, of);
}

void ReviewBudget::give_back(std::size_t bytes, Share::Held::iterator of) {
    if (--of->second == 0) held_.erase(of);
    taken_ -= bytes;
    --waiting_;
}

}  // namespace webhook
