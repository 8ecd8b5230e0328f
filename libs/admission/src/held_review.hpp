#pragma once
#include <optional>
#include <string>
#include <utility>

#include "admission/client_limits.hpp"
#include "admission/review_turns.hpp"
#include "admission/routes.hpp"

namespace admission {

/// The decoded review of a request. While it waits, its objects are kept if they are small and one of
/// `turns->kept` is free; otherwise it is held as the bytes of its request, and decoded again. Without
/// `turns` it is always kept. The arguments must outlive it.
class HeldReview {
public:
    HeldReview(const Route& route, const std::string& body, ReviewTurns* turns)
        : route_(route), body_(body), turns_(turns) {}

    const Route& route() const { return route_; }
    /// Call it once, before all others. Fails if the bytes are no review.
    api::Result<> decode() {
        auto request = api::decode_admission_review(body_, route_.unread_on_create);
        if (!request) return request.error();
        // Rules recognize an UPDATE by its old object, so a CREATE must not have one.
        if (request->operation == "CREATE") request->old_object = api::Json();
        const api::Json& object = request->object.is_object() ? request->object : request->old_object;
        std::string uid(object["metadata"]["uid"].as_string());
        review_ = Review{.request = std::move(*request), .uid = std::move(uid)};
        return {};
    }

    /// Takes the objects for the route's verdicts out of the request.
    void take_objects() {
        if (!route_.reads_train_job) return;
        review_->job = std::move(review_->request.object);
        review_->old_job = std::move(review_->request.old_object);
    }

    /// Frees the objects. Call it when no more verdict is needed: the review waits as it is then.
    void forget_objects() {
        review_->request.object = review_->request.old_object = api::Json();
        review_->job = review_->old_job = runtime::ReviewedJob();
    }

    /// Call it before each other wait, after take_objects().
    void rest() {
        if (!turns_ || permit_) return;
        if (is_small()) permit_ = turns_->kept.try_take();
        if (!permit_) review_.reset();
    }

    /// Returns the review. Valid until the next wait.
    const Review& get() {
        if (!review_) {
            decode().value();
            take_objects();
        }
        return *review_;
    }

private:
    bool is_small() const {
        return body_.size() <= expensive_bytes && count_values(body_) <= lookup_limits::kept_values;
    }

    const Route& route_;
    const std::string& body_;
    ReviewTurns* const turns_;
    net::Semaphore::Permit permit_ = {};
    std::optional<Review> review_ = {};
};

}  // namespace admission
