#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kube/client/throttle.hpp"

namespace progress {

/// How many TokenReviews requests can cause: a number a second, of which half is for tokens that were
/// accepted before, and for other tokens a number a second of each address, which is small after refusals in
/// a row. So a flood of forged tokens costs the API server a bounded number of requests, and Pods that report
/// go on. Thread rule: one thread.
class ReviewLimits {
public:
    static constexpr double per_second = 200;
    static constexpr double per_second_of_address = 10;
    static constexpr std::chrono::seconds between_after_refusals{10};
    static constexpr int refusals_in_a_row = 5;
    static constexpr std::chrono::seconds longest_line{2};

    /// `by_address`: false where all Pods have one address.
    explicit ReviewLimits(bool by_address);
    ~ReviewLimits();

    /// Returns when a TokenReview may be sent; nullopt if that is too far ahead. `known`: the token was
    /// accepted before.
    std::optional<kube::SteadyTime> reserve(const std::string& address, bool known, kube::SteadyTime now);
    void answered(const std::string& address, bool accepted);

private:
    struct Addresses;

    kube::TokenBucket all_;
    kube::TokenBucket unknown_;
    std::unique_ptr<Addresses> addresses_;  // null: not limited by them
};

}  // namespace progress
