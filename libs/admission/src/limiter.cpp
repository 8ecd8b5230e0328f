#include "admission/limiter.hpp"

#include <algorithm>

namespace admission {

std::optional<Limiter::Permit> Limiter::take(std::string_view client) {
    if (waiting_ >= count_) return std::nullopt;
    auto of = held_.find(client);
    const std::size_t held = of == held_.end() ? 0 : of->second;
    const std::size_t left_by_others = count_ - (waiting_ - held);
    if (!client.empty() && held >= std::max<std::size_t>(left_by_others / 2, 1)) return std::nullopt;
    if (of == held_.end()) of = held_.emplace(client, 0).first;
    ++of->second;
    ++waiting_;
    return Permit(*this, of);
}

void Limiter::give_back(Permit::Held::iterator of) {
    if (--of->second == 0) held_.erase(of);
    --waiting_;
}

std::size_t lookup_permits(std::size_t connections) { return std::max<std::size_t>(connections / 2, 1); }

std::size_t token_review_permits(std::size_t connections) {
    return std::max<std::size_t>(connections / 3, 1);
}

}  // namespace admission
