// What a client sends to the webhook: the first byte says how it is cut, which must not matter. Bodies are
// decoded as admission reviews, judged, and answered. The same bytes also as an API server's response.
#include <utility>

#include "api/admission.hpp"
#include "input.hpp"
#include "message_parser.hpp"
#include "runtime/admission.hpp"

namespace {

constexpr net::RequestParser::Limits limits = {.header_bytes = 4096, .body_bytes = 65536};

struct Read {
    std::vector<net::HttpRequest> requests = {};
    net::ParseError error = net::ParseError::none;
};

Read read_all(std::string_view stream, std::size_t piece) {
    Read all;
    net::RequestParser parser;
    net::HttpRequest request;
    parser.begin(request, limits);
    std::string waiting;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        waiting += stream.substr(at, piece);
        while (!waiting.empty()) {
            const std::size_t used = parser.feed(waiting);
            MUST_HOLD(used <= waiting.size());
            waiting.erase(0, used);
            all.error = parser.error();
            if (all.error != net::ParseError::none) return all;
            if (!parser.done()) {
                if (used == 0) break;
                continue;
            }
            MUST_HOLD(request.body.size() <= limits.body_bytes);
            all.requests.push_back(request);
            if (!parser.keep_alive()) return all;
            parser.begin(request, limits);
        }
    }
    return all;
}

void review(std::string_view body) {
    const auto request = api::decode_admission_review(body);
    if (!request) return;
    const api::Json& object = request->object;
    auto findings = runtime::review_train_job({.object = object, .old_object = request->old_object});
    const auto of_runtime = runtime::review_runtime(object, request->old_object);
    findings.warnings.insert(findings.warnings.end(), of_runtime.warnings.begin(), of_runtime.warnings.end());
    api::Verdict verdict = api::denied_or_allowed(*request, std::move(findings.errors));
    verdict.warnings = std::move(findings.warnings);
    MUST_HOLD(api::parse_json(encode_admission_review(*request, verdict)).has_value());
}

void read_response(std::string_view stream, std::size_t piece) {
    net::HttpResponse response;
    net::ResponseParser parser(response, false);
    std::string waiting;
    for (std::size_t at = 0; at < stream.size() && !parser.failed() && !parser.done(); at += piece) {
        waiting += stream.substr(at, piece);
        waiting.erase(0, parser.feed(waiting));
    }
    if (!parser.failed() && !parser.done()) (void)parser.feed_eof();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view stream = text_of(data, size).substr(1);
    const std::size_t piece = 1 + data[0] % 200u;
    const Read whole = read_all(stream, stream.size() + 1);
    const Read pieces = read_all(stream, piece);
    if (whole.error == net::ParseError::none && pieces.error == net::ParseError::none) {
        MUST_HOLD(whole.requests.size() == pieces.requests.size());
        for (std::size_t i = 0; i < whole.requests.size(); ++i) {
            MUST_HOLD(whole.requests[i].target == pieces.requests[i].target);
            MUST_HOLD(whole.requests[i].body == pieces.requests[i].body);
        }
    }
    for (const net::HttpRequest& request : whole.requests) review(request.body);
    review(stream);
    read_response(stream, piece);
    return 0;
}
