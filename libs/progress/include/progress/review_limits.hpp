#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kube/client/clock.hpp"
#include "net/process/keyed_rate.hpp"

namespace progress {

/// Limits the rate of TokenReviews: half of it is for tokens that were accepted before. For other tokens each
/// address has a rate of its own, which is small after refusals in a row. So a flood of forged tokens causes
/// a limited number of requests, and Pods with accepted tokens can report. Thread rule: one thread.
class ReviewLimits {
public:
    static constexpr double per_second = 200;
    static constexpr double per_second_of_address = 10;
    static constexpr std::chrono::seconds between_after_refusals{10};
    static constexpr int refusals_in_a_row = 5;
    static constexpr std::chrono::seconds longest_line{2};

    /// `by_address`: false if all Pods have one address.
    explicit ReviewLimits(bool by_address);
    ~ReviewLimits();

    /// Returns when a TokenReview may be sent; nullopt if that is too far ahead. `known`: the token was
    /// accepted before.
    std::optional<kube::SteadyTime> reserve(const std::string& address, bool known, kube::SteadyTime now);
    void answered(const std::string& address, bool accepted);

private:
    struct Addresses;

    net::TokenBucket all_;
    net::TokenBucket unknown_;
    std::unique_ptr<Addresses> addresses_;  // null: not limited by address
};

}  // namespace progress
