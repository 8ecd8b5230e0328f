#pragma once
#include <map>
#include <optional>
#include <string>
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
/// Connections that wait for us make no room for others: so they must not be all of them. One client address
/// gets at most half of what the others leave: a client that floods the webhook keeps no other one out.
/// Thread rule: one thread; must outlive its shares.
class ReviewBudget {
public:
    /// The bytes of small reviews are not counted, and a single large one is let in whatever it takes.
    ReviewBudget(std::size_t bytes, std::size_t count) : bytes_(bytes), count_(count) {}

    /// What a review takes from the budget, until it is destroyed.
    class Share {
    public:
        Share(Share&& other) noexcept
            : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_), of_(other.of_) {}
        Share& operator=(Share&&) = delete;
        ~Share() {
            if (budget_) budget_->give_back(bytes_, of_);
        }

    private:
        friend ReviewBudget;
        using Held = std::map<std::string, std::size_t, std::less<>>;  // by client address
        Share(ReviewBudget& budget, std::size_t bytes, Held::iterator of)
            : budget_(&budget), bytes_(bytes), of_(of) {}

        ReviewBudget* budget_;
        std::size_t bytes_;
        Held::iterator of_;
    };

    /// nullopt: not now, too many wait, or too large ones, or too many of this client. An empty address is
    /// not limited by itself.
    std::optional<Share> take(std::size_t values, std::string_view client = {});

private:
    void give_back(std::size_t bytes, Share::Held::iterator of);

    const std::size_t bytes_;
    const std::size_t count_;
    std::size_t taken_ = 0;
    std::size_t waiting_ = 0;
    Share::Held held_ = {};  // of clients with at least one
};

}  // namespace webhook
