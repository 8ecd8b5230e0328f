// What Pods send: the first byte says whether the rest is a body with a report or a token.
#include <algorithm>

#include "input.hpp"
#include "progress/report.hpp"
#include "progress/token.hpp"

namespace {

// What is accepted reads back as the same report, as it is stored and as it is sent.
void read_body(std::string_view body) {
    const auto read = progress::decode_report(body);
    if (!read || !*read) return;
    const progress::Report& report = **read;
    MUST_HOLD(report.metrics.size() <= body.size() / 2);
    const auto errors = progress::report_errors(report);
    MUST_HOLD(errors.size() <= progress::max_errors);
    if (!errors.empty()) return;
    const api::Json stored = to_json_tree(report);
    MUST_HOLD(progress::read_report(stored) == report);
    const auto again = progress::decode_report(R"({"trainerStatus":)" + to_json(stored) + "}");
    MUST_HOLD(again && *again == report);
    MUST_HOLD(progress::progress_hash(**again) == progress::progress_hash(report));
}

void read_token(std::string_view text) {
    constexpr api::Time now = api::Time(std::chrono::seconds(1'800'000'000));
    const std::string_view token = progress::bearer_token(text);
    MUST_HOLD(token.find_first_of(" \t") == token.npos);
    const auto claims = progress::read_claims(token, {.ns = "ns", .name = "job"}, now);
    if (!claims) return;
    MUST_HOLD(token.size() <= progress::max_token_bytes && std::ranges::count(token, '.') == 2);
    MUST_HOLD(!claims->pod_name.empty() && !claims->pod_uid.empty());
    MUST_HOLD(claims->expires > now - std::chrono::seconds(61));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text = text_of(data, size).substr(1);
    if (data[0] % 2 == 0)
        read_body(text);
    else
        read_token(text);
    return 0;
}
