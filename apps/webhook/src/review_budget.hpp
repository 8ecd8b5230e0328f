#pragma once
#include <optional>
#include <string_view>
#include <utility>

#include "api/json_reader.hpp"

namespace webhook {

/// How many values (a member counts twice) a review may hold. Two objects of the 1.5 MiB that etcd takes have
/// fewer. Trees can take forty times the bytes of a body that is made for it; this bounds what one can cost.
inline constexpr std::size_t max_review_values = 500'000;

using api::count_tree_values;
using api::count_values;

/// Bounds how many reviews of one thread wait for a lookup, and their memory, by what their trees will take.
/// Connections that wait for us make no room for others: so they must not be all of them. Thread rule: one
/// thread; must outlive its shares.
class ReviewBudget {
public:
    /// The bytes of small reviews are not counted, and a single large one is let in whatever it takes.
    ReviewBudget(std::size_t bytes, std::size_t count) : bytes_(bytes), count_(count) {}

    /// What a review takes from the budget, until it is destroyed.
    class Share {
    public:
        Share(ReviewBudget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {
            budget_->taken_ += bytes_;
            ++budget_->waiting_;
        }
        Share(Share&& other) noexcept
            : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
        Share& operator=(Share&&) = delete;
        ~Share() {
            if (!budget_) return;
            budget_->taken_ -= bytes_;
            --budget_->waiting_;
        }

    private:
        ReviewBudget* budget_;
        std::size_t bytes_;
    };

    /// nullopt: not now, too many wait, or too large ones.
    std::optional<Share> take(std::size_t values);

private:
    const std::size_t bytes_;
    const std::size_t count_;
    std::size_t taken_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace webhook
