#include "lifecycle/refusal.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "api/quantity.hpp"

namespace lifecycle {
namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// The API server's words, because its Status does not tell these apart from the verdict of a quota or policy.
// "... is forbidden: User "x" cannot create resource ...": RBAC. The second is the same for owner references
// (admission plugin OwnerReferencesPermissionEnforcement).
bool lacks_permission(std::string_view message) {
    return (contains(message, "forbidden: User \"") && contains(message, "\" cannot ")) ||
           contains(message,
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't");
}

bool namespace_terminates(std::string_view message) {
    return contains(message, "because it is being terminated");
}

// Server-side apply with a field that the kind does not have, such as one of a later release of JobSet.
bool knows_no_field(const api::Error& error) {
    return error.http_status == 500 && contains(error.message, "field not declared in schema");
}

// Kueue's webhook for JobSets denies so while its cache does not have the TrainJob that owns the JobSet.
bool webhook_misses_something(const api::Error& error) {
    return error.http_status == 404 && contains(error.message, "admission webhook \"");
}

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

// docs/design/lifecycle.md#failures-and-retries has the reasons for this function and the next one.
bool is_rejection(const api::Error& error) {
    constexpr std::array transient = {401, 408, 409, 429};
    const int status = error.http_status;
    if (knows_no_field(error)) return true;
    if (error.code == api::Errc::conflict || webhook_misses_something(error)) return false;
    if (status < 400 || status >= 500 || std::count(transient.begin(), transient.end(), status)) return false;
    return status != 403 || !(lacks_permission(error.message) || namespace_terminates(error.message));
}

bool lacks_kind(const api::Error& error) {
    return error.http_status == 404 && !webhook_misses_something(error) &&
           !error.message.starts_with("namespaces \"");
}

api::Error rejection(std::string why, std::string field) {
    return {
        .code = api::Errc::invalid, .message = std::move(why), .field = std::move(field), .http_status = 422};
}

Obstacle obstacle_of(const api::Error& error) {
    const bool forbidden = error.http_status == 403;
    if (error.code == api::Errc::conflict || error.http_status == 409 || error.http_status == 401 ||
        (forbidden && namespace_terminates(error.message)))
        return Obstacle::passing;
    return forbidden && lacks_permission(error.message) ? Obstacle::permission : Obstacle::server;
}

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
