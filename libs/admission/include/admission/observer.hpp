#pragma once
#include <cstddef>

#include "admission/routes.hpp"
#include "api/admission_review.hpp"

namespace admission {

/// The outcome of one request to the webhook.
enum class Outcome {
    allowed,
    patched,
    invalid,      ///< denied: the object breaks a rule
    bad,          ///< denied: the request is inconsistent
    unavailable,  ///< denied: a lookup failed
    not_a_review,
    wrong_media_type,
    wrong_method,
    no_route,
    failed,      ///< an exception
    too_large,   ///< more values than a review may have
    overloaded,  ///< no memory left
    unauthorized,
    forbidden,
    unchecked,  ///< the caller could not be checked
};
inline constexpr std::size_t outcome_count = 15;

/// Is told what becomes of each request. This class ignores it. Thread rule: any thread.
class ReviewObserver {
public:
    virtual ~ReviewObserver() = default;

    /// `route` is nullptr for an unknown path.
    virtual void ended(const Route* /*route*/, Outcome /*outcome*/, double /*seconds*/) {}
    /// A request was refused unread.
    virtual void refused(Outcome /*outcome*/) {}
    /// A review has its verdict; ended() follows.
    virtual void judged(const Route& /*route*/, const api::Verdict& /*verdict*/) {}
};

}  // namespace admission
