#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/json_reader.hpp"

namespace admission {

/// The maximum number of values (a member counts twice) of a review. Two objects of etcd's limit of 1.5 MiB
/// have fewer. A tree can take forty times the bytes of a body that is made for it, so this limits its
/// memory.
inline constexpr std::size_t max_review_values = 500'000;

using api::count_tree_values;
using api::count_values;

/// Limits how many reviews of one thread wait for a lookup. Their connections cannot be closed to make room,
/// so they must not be all connections. One client address gets at most half of the places that the others
/// leave: a client that floods the webhook excludes no other one. Thread rule: one thread; must outlive its
/// permits.
class Limiter {
public:
    explicit Limiter(std::size_t count) : count_(count) {}

    /// The place of one review, until its destruction.
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

    /// Returns a permit; nullopt if too many reviews wait, or too many of this client. An empty address has
    /// no limit of its own.
    std::optional<Permit> take(std::string_view client = {});

private:
    void give_back(Permit::Held::iterator of);

    const std::size_t count_;
    std::size_t waiting_ = 0;
    Permit::Held held_ = {};  // of clients with at least one
};

}  // namespace admission
