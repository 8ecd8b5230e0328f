// The bytes of a server, as our client reads them: interim responses, headers, a body with a length, in
// chunks or up to the end. The first byte sets the cuts, which must have no effect; the second one whether it
// answers a HEAD, and how much the client reads at a time. What is read is then an error, and warnings.
#include <algorithm>

#include "cost.hpp"
#include "http/message_parser.hpp"
#include "input.hpp"
#include "kube/client/status.hpp"
#include "pieces.hpp"

namespace {

struct Read {
    net::HttpResponse response = {};
    bool failed = false;
    bool has_header = false;
    bool complete = false;
    std::size_t most_waiting = 0;  // bytes that the parser did not take yet
};

// As net::ClientConnection: what the parser does not take is passed again, with more.
Read read_pieces(std::string_view stream, Pieces pieces, bool without_body) {
    Read read;
    net::ResponseParser parser(read.response, without_body);
    std::string waiting;
    std::size_t given = 0;
    while (!parser.failed() && !parser.done() && given < stream.size()) {
        const std::string_view piece = pieces.next();
        given += piece.size();
        waiting += piece;
        waiting.erase(0, parser.feed(waiting));
        if (!parser.failed() && !parser.done())
            read.most_waiting = std::max(read.most_waiting, waiting.size());
    }
    read.failed = parser.failed();
    read.has_header = !read.failed && parser.header_done();
    read.complete = !read.failed && (parser.done() || parser.feed_eof());
    return read;
}

void run(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return;
    const std::string_view stream = text_of(data, size).substr(2);
    const bool without_body = data[1] % 4 == 0;
    const Read one = read_pieces(stream, Pieces(stream, data[0]), without_body);
    const Read other = read_pieces(stream, Pieces(stream, data[0] + 256u), without_body);
    // What a server can have our client keep beside the body: a header.
    MUST_HOLD(one.most_waiting <= 256 * 1024 && other.most_waiting <= 256 * 1024);
    // Near the limit the cuts decide.
    if (std::max(one.most_waiting, other.most_waiting) > 128 * 1024) return;
    MUST_HOLD(one.complete == other.complete);
    MUST_HOLD(one.response.body.size() <= stream.size());
    // A broken line of a header that has no end yet is found at once, or only with its end.
    if (one.failed || other.failed) return;
    MUST_HOLD(one.has_header == other.has_header);
    if (!one.has_header) return;
    MUST_HOLD(one.response.status == other.response.status);
    MUST_HOLD(one.response.headers == other.response.headers);
    MUST_HOLD(one.response.body == other.response.body);
    MUST_HOLD(!without_body || one.response.body.empty());
    MUST_HOLD(one.response.headers.size() <= 128);
    if (!one.complete) return;
    const api::Error error = kube::error_from(one.response);
    MUST_HOLD(!error.message.empty());
    (void)kube::warnings_of(one.response.headers);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 20000}, size, [&] { run(data, size); });
}
