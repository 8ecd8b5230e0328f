#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/json_reader.hpp"

namespace admission {

/// How many values (a member counts twice) a review may hold. Two objects of the 1.5 MiB that etcd takes have
/// fewer. Trees can take forty times the bytes of a body that is made for it; this bounds what one can cost.
inline constexpr std::size_t max_review_values = 500'000;

using api::count_tree_values;
using api::count_values;

/// Bounds how many reviews of one thread wait for a lookup. Connections that wait for us make no room for
/// others: so they must not be all of them. One client address gets at most half of what the others leave: a
/// client that floods the webhook keeps no other one out. Thread rule: one thread; must outlive its shares.
class Limiter {
public:
    explicit Limiter(std::size_t count) : count_(count) {}

    /// A place of one review, until it is destroyed.
    class Permit {
    public:
        Permit(Permit&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)), of_(other.of_) {}
        Permit& operator=(Permit&&) = delete;
        ~Permit() {
            if (budget_) budget_->give_back(of_);
        }

    private:
        friend Limiter;
        using Held = std::map<std::string, std::size_t, std::less<>>;  // by client address
        Permit(Limiter& budget, Held::iterator of) : budget_(&budget), of_(of) {}

        Limiter* budget_;
        Held::iterator of_;
    };

    /// nullopt: not now, too many wait, or too many of this client. An empty address is not limited by
    /// itself.
    std::optional<Permit> take(std::string_view client = {});

private:
    void give_back(Permit::Held::iterator of);

    const std::size_t count_;
    std::size_t waiting_ = 0;
    Permit::Held held_ = {};  // of clients with at least one
};

}  // namespace admission
