#include "reconcile/metered_reads.hpp"

#include <algorithm>
#include <utility>

#include "api/json.hpp"

namespace controller {
namespace {

// Usual objects have a value in eight bytes or more. Ten times that is what its tree takes.
constexpr std::size_t weight_of_value = 8;

std::size_t weight_of(const std::string& body) {
    return std::max(body.size(), weight_of_value * api::count_values(body));
}

api::Error too_large(const std::string& target) {
    return {.code = api::Errc::too_large,
            .message = "with the answer to GET " + target + " this reconcile would hold more than " +
                       std::to_string(MeteredReads::most / (1024 * 1024)) + " MiB of objects"};
}

}  // namespace

kube::Async<kube::Response> MeteredReads::send(kube::Request request) {
    if (request.method == "GET" || is_exceeded_) return read(std::move(request));
    return server_.send(std::move(request));
}

kube::Async<kube::Response> MeteredReads::read(kube::Request request) {
    const std::string target = request.target;
    if (is_exceeded_) co_return too_large(target);
    const std::size_t limit = std::min(allowed_, most);
    // Of reads at the same time each has the room that is left.
    const auto left_for = [this, limit, &target] {
        const std::size_t others = weight_ - weights_[target];
        return limit > others ? limit - others : 0;
    };
    std::size_t left = left_for();
    const bool is_own_limit = left < request.max_answer;
    request.max_answer = std::min(request.max_answer, left);
    auto answer = co_await server_.send(std::move(request));
    const bool is_cut = !answer && answer.error().code == api::Errc::too_large && is_own_limit;
    if (!answer && !is_cut) co_return answer.error();
    if (answer) compare(answer->date);
    const std::size_t weight = is_cut ? left + 1 : weight_of(answer->body);
    left = left_for();
    if (weight > left) {
        is_exceeded_ = allowed_ < most;
        co_return too_large(target);
    }
    if (weight > weights_[target]) weight_ += weight - std::exchange(weights_[target], weight);
    co_return std::move(*answer);
}

// A date is cut to the second.
void MeteredReads::compare(const std::optional<api::Time>& date) {
    const auto ahead = date ? now_().now - *date : std::chrono::seconds(0);
    if (!date || ahead > kube::ServerClock::tolerated + std::chrono::seconds(1))
        is_contradicted_ = true;
    else
        ahead_ = std::max(ahead_, ahead);
}

kube::ServerTime MeteredReads::time() const {
    const kube::ServerTime clock = now_();
    return {clock.now - ahead_, clock.is_certain && !is_contradicted_};
}

}  // namespace controller
