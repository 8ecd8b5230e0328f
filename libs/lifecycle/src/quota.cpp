#include "lifecycle/quota.hpp"

#include <optional>
#include <string_view>

#include "api/quantity.hpp"

namespace lifecycle {
namespace {

// Reads a text from the front. A part that is not as expected ends the reading.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool skip(std::string_view expected) {
        if (!rest_.starts_with(expected)) return false;
        rest_.remove_prefix(expected.size());
        return true;
    }
    // Returns the text up to a quote, comma or space, which no name and no quantity has.
    std::string_view word() {
        const std::string_view found = rest_.substr(0, rest_.find_first_of("\", "));
        rest_.remove_prefix(found.size());
        return found;
    }
    std::optional<api::Quantity> count() {
        if (!skip("count/jobsets.jobset.x-k8s.io=")) return std::nullopt;
        const auto amount = api::parse_quantity(api::Json(word()));
        return amount ? std::optional(*amount) : std::nullopt;
    }
    bool is_at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

}  // namespace

// "jobsets.jobset.x-k8s.io "job" is forbidden: exceeded quota: few, requested:
// count/jobsets.jobset.x-k8s.io=1, used: count/jobsets.jobset.x-k8s.io=5, limited:
// count/jobsets.jobset.x-k8s.io=5". No other counts stand there than those that are exceeded.
bool deletion_makes_room(const api::Error& refusal) {
    if (refusal.http_status != 403) return false;
    Reader reader(refusal.message);
    if (!reader.skip("jobsets.jobset.x-k8s.io \"") || reader.word().empty() ||
        !reader.skip("\" is forbidden: exceeded quota: ") || reader.word().empty() ||
        !reader.skip(", requested: "))
        return false;
    const auto requested = reader.count();
    if (!requested || !reader.skip(", used: ")) return false;
    const auto used = reader.count();
    if (!used || !reader.skip(", limited: ")) return false;
    const auto limited = reader.count();
    if (!limited || !reader.is_at_end()) return false;
    const auto one = api::parse_quantity(api::Json("1"));
    return *requested == *one && *used >= *one && *used <= *limited;
}

}  // namespace lifecycle
