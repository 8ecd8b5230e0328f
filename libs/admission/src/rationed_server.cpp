#include "admission/rationed_server.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "api/hash.hpp"
#include "net/process/keyed_rate.hpp"

namespace admission {
namespace {

using namespace std::chrono_literals;

constexpr auto remembered_for = 5s;
// The API servers' default timeout of a review; a later answer is of no use.
constexpr auto longest_wait = 10s;
// The stored answers take two megabytes at most.
constexpr std::size_t most_remembered = 128;
constexpr std::size_t largest_remembered = 16 * 1024;

const std::string job_sets = "/" + std::string(kube::resources::job_sets.plural) + "/";

using Answer = api::Result<kube::Response>;

class Rationed final : public kube::ApiServer {
public:
    Rationed(std::unique_ptr<kube::ApiServer> server, kube::Clock& clock, const Ration& ration)
        : server_(std::move(server)), clock_(clock), permits_(ration.per_second, ration.at_once) {}

    kube::Async<kube::Response> send(kube::Request request) override {
        const auto now = clock_.now();
        const auto when = permits_.next(now);
        if (when > now) {
            if (const Answer* known = recall(request.target, now)) co_return *known;
            if (when > now + longest_wait)
                co_return api::Error{.code = api::Errc::unavailable,
                                     .message = "too many lookups wait for their turn"};
        }
        permits_.reserve(now);
        if (when > now) co_await clock_.sleep_until(when);
        const std::string target = request.target;
        Answer answer = co_await server_->send(std::move(request));
        remember(target, answer);
        co_return answer;
    }
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override {
        return server_->watch(std::move(request));
    }
    void close() override { server_->close(); }

private:
    struct Known {
        Answer answer;
        kube::SteadyTime until;
    };

    const Answer* recall(const std::string& target, kube::SteadyTime now) const {
        const auto at = known_.find(target);
        return at != known_.end() && now < at->second.until ? &at->second.answer : nullptr;
    }

    void remember(const std::string& target, const Answer& answer) {
        // Answers about JobSets are not remembered: whether Pods run may change within that time, and some
        // patches must not change while Pods run.
        if (target.find(job_sets) != std::string::npos) return;
        const bool lasts =
            answer ? answer->body.size() <= largest_remembered : answer.error().code == api::Errc::not_found;
        if (!lasts || target.size() > largest_remembered) return;
        const auto [at, is_new] =
            known_.insert_or_assign(target, Known{answer, clock_.now() + remembered_for});
        if (is_new) order_.push_back(target);
        if (order_.size() <= most_remembered) return;
        known_.erase(order_.front());
        order_.pop_front();
    }

    std::unique_ptr<kube::ApiServer> server_;
    kube::Clock& clock_;
    net::TokenBucket permits_;
    std::unordered_map<std::string, Known, api::KeyedHash> known_ = {};
    std::deque<std::string> order_ = {};  // of their first answers
};

}  // namespace

Ration ration_of_thread(const Ration& ration, int threads) {
    return {.per_second = ration.per_second / threads, .at_once = std::max(ration.at_once / threads, 1)};
}

std::unique_ptr<kube::ApiServer> make_rationed(std::unique_ptr<kube::ApiServer> server, kube::Clock& clock,
                                               const Ration& ration) {
    return std::make_unique<Rationed>(std::move(server), clock, ration);
}

}  // namespace admission
