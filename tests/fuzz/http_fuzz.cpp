// A client's bytes through the state machine of the webhook's connection: headers, bodies with a length or in
// chunks, several requests in a row. The first byte sets the sizes of reads, which must have no effect; the
// second one the memory for bodies. Bodies are decoded as admission reviews, reviewed and answered, and
// net::HttpClient's parser reads the response. The same bytes are also read as an API server's response.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "api/admission_review.hpp"
#include "cost.hpp"
#include "http/http_text.hpp"
#include "http/message_parser.hpp"
#include "http/request_reader.hpp"
#include "input.hpp"
#include "runtime/validation.hpp"

namespace {

// The webhook's limits, with a smaller body, because a fuzzer's inputs are small.
constexpr net::RequestParser::Limits limits = {.header_bytes = 16 * 1024, .body_bytes = 96 * 1024};
constexpr std::size_t buffer = 17 * 1024;

// Acts like net::Session with a client that has sent everything, `piece` bytes at a time.
std::vector<net::HttpRequest> read_all(std::string_view stream, std::size_t piece, std::size_t memory) {
    std::vector<net::HttpRequest> all;
    net::Exchange exchange(buffer);
    net::RequestReader reader(limits, [memory](std::size_t size) { return size <= memory; });
    for (;;) {
        reader.begin(exchange);
        for (;;) {
            using Next = net::RequestReader::Next;
            const Next next = reader.advance();
            if (next == Next::complete) break;
            if (next == Next::body) {
                (void)reader.wants_continue();
                continue;
            }
            if (next == Next::refuse) {
                MUST_HOLD(reader.refusal().status >= 400);
                return all;
            }
            const auto room = reader.room();
            MUST_HOLD(!room.empty());
            if (stream.empty()) return all;
            const auto count = std::min({piece, room.size(), stream.size()});
            std::memcpy(room.data(), stream.data(), count);
            stream.remove_prefix(count);
            reader.received(count);
        }
        MUST_HOLD(exchange.request.body.size() <= std::min(limits.body_bytes, memory));
        MUST_HOLD(exchange.request.headers.size() <= 128);
        all.push_back(exchange.request);
        if (!reader.keep_alive()) return all;
    }
}

void check_answer(const api::AdmissionRequest& request, const api::Verdict& verdict) {
    net::HttpResponse answer = {.headers = {{"Content-Type", "application/json"}},
                                .body = encode_admission_review(request, verdict)};
    MUST_HOLD(api::parse_json(answer.body).has_value());
    std::string text;
    append_response(text, answer, false, false);
    net::HttpResponse parsed;
    net::ResponseParser parser(parsed, false);
    MUST_HOLD(parser.feed(text) == text.size() && parser.done() && parsed.body == answer.body);
}

void review(std::string_view body) {
    const auto request = api::decode_admission_review(body);
    if (!request) return;
    const api::Json& object = request->object;
    auto findings = runtime::validate_train_job({.object = object, .old_object = request->old_object});
    const auto of_runtime = runtime::validate_runtime(object, request->old_object);
    findings.warnings.append(of_runtime.warnings);
    api::Verdict verdict = api::validated(*request, std::move(findings.errors));
    verdict.warnings = std::move(findings.warnings);
    check_answer(*request, verdict);
    api::Verdict mutated = api::allowed();
    mutated.patch = runtime::default_train_job(object, request->old_object, {}).operations;
    check_answer(*request, mutated);
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

void run(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return;
    const std::string_view stream = text_of(data, size).substr(2);
    // From single bytes to more than the buffer. Long streams come in longer pieces, so that none takes
    // seconds.
    const std::size_t piece = 1 + data[0] * data[0] / 2 + stream.size() / 4096;
    const std::size_t memory = (1 + data[1] % 32u) * 4096;
    const auto whole = read_all(stream, stream.size() + 1, memory);
    const auto pieces = read_all(stream, piece, memory);
    // An error may be detected early or late, and closes the connection either way.
    MUST_HOLD(whole.size() == pieces.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        MUST_HOLD(whole[i].target == pieces[i].target);
        MUST_HOLD(whole[i].headers == pieces[i].headers);
        MUST_HOLD(whole[i].body == pieces[i].body);
    }
    for (const net::HttpRequest& request : whole) review(request.body);
    review(stream);
    read_response(stream, piece);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 20000}, size, [&] { run(data, size); });
}
