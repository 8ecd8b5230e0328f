#pragma once
#include <optional>
#include <string_view>
#include <utility>

namespace webhook {

/// How many values (a member counts twice) a review may hold. Two objects of the 1.5 MiB that etcd takes have
/// fewer. Trees can take forty times the bytes of a body that is made for it; this bounds what one can cost.
inline constexpr std::size_t max_review_values = 500'000;

/// How many values a JSON text holds, at most: each follows one of ,:[{ or is the first.
std::size_t count_values(std::string_view json);

/// Bounds the memory of the reviews of one thread that wait for a lookup, by what their trees will take.
/// Thread rule: one thread; must outlive its shares.
class ReviewBudget {
public:
    /// Small reviews are let in without counting, and a single large one whatever it takes.
    explicit ReviewBudget(std::size_t bytes) : bytes_(bytes) {}

    /// What a review takes from the budget, until it is destroyed.
    class Share {
    public:
        Share(ReviewBudget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {}
        Share(Share&& other) noexcept
            : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
        Share& operator=(Share&&) = delete;
        ~Share() {
            if (budget_) budget_->taken_ -= bytes_;
        }

    private:
        ReviewBudget* budget_;
        std::size_t bytes_;
    };

    /// nullopt: not now, too many large ones wait.
    std::optional<Share> take(std::size_t values);

private:
    std::size_t bytes_;
    std::size_t taken_ = 0;
};

}  // namespace webhook
