#include "http/request_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/text.hpp"
#include "http/http_text.hpp"

namespace net {
namespace {

// Limits of the strings that the next request reuses: body and response together, and the headers.
constexpr std::size_t kept_text = 40 * 1024;
constexpr std::size_t kept_headers = 4 * 1024;
// The first allocation of a body, so that a large Content-Length alone takes no memory.
constexpr std::size_t first_piece = 32 * 1024;

bool expects_body(std::string_view method) {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

// A client may send another large header each time, or pipeline small requests behind a huge one.
void Exchange::trim() {
    if (request.body.capacity() + out.capacity() > kept_text) {
        free_text(request.body);
        free_text(out);
    }
    std::size_t size = request.method.capacity() + request.target.capacity();
    for (const auto& [name, value] : request.headers) size += name.capacity() + value.capacity();
    if (size <= kept_headers) return;
    free_text(request.method);
    free_text(request.target);
    Headers().swap(request.headers);
}

void Exchange::free_input() {
    if (has_unread()) return;
    begin = end = 0;
    std::vector<char>().swap(in);
}

void RequestReader::begin(Exchange& exchange) {
    exchange_ = &exchange;
    exchange.trim();
    exchange.restore_input();
    exchange.parser.begin(exchange.request, limits_);
    state_ = State::header;
    body_announced_ = false;
}

RequestReader::Next RequestReader::advance() {
    switch (state_) {
        case State::header: return body_announced_ ? begin_body() : parse_header();
        case State::sized: return take_sized_body();
        case State::chunked: return parse_chunks();
    }
    return Next::more;
}

std::span<char> RequestReader::room() {
    if (state_ == State::sized) return std::span(exchange_->request.body).subspan(body_size_);
    return std::span(exchange_->in).subspan(exchange_->end);
}

void RequestReader::received(std::size_t count) {
    (state_ == State::sized ? body_size_ : exchange_->end) += count;
}

std::size_t RequestReader::feed() {
    auto& exchange = *exchange_;
    const auto used =
        exchange.parser.feed({exchange.in.data() + exchange.begin, exchange.end - exchange.begin});
    exchange.begin += used;
    if (exchange.begin == exchange.end) {
        exchange.begin = exchange.end = 0;
    } else if (exchange.begin > 0 && exchange.end == exchange.in.size()) {
        std::memmove(exchange.in.data(), exchange.in.data() + exchange.begin, exchange.end - exchange.begin);
        exchange.end -= std::exchange(exchange.begin, 0);
    }
    return used;
}

RequestReader::Next RequestReader::parse_header() {
    if (!exchange_->has_unread()) return Next::more;
    feed();
    const auto& parser = exchange_->parser;
    if (parser.error() != ParseError::none) return refuse_because(parser.error());
    if (!parser.header_done())
        return exchange_->end < exchange_->in.size() ? Next::more
                                                     : refuse_because(ParseError::header_too_large);
    return after_header();
}

RequestReader::Next RequestReader::after_header() {
    const auto& parser = exchange_->parser;
    const auto& request = exchange_->request;
    if (parser.http11() && header(request.headers, "Host").empty())
        return refuse(400, "the Host header is missing");
    if (!parser.content_length() && !parser.chunked() && expects_body(request.method))
        return refuse(411, "send a Content-Length or a chunked body");
    const auto expectation = header(request.headers, "Expect");
    if (!expectation.empty() && !api::equal_ignoring_case(expectation, "100-continue"))
        return refuse(417, "only 100-continue can be expected");
    if (parser.done()) return Next::complete;
    body_announced_ = true;
    return Next::body;
}

bool RequestReader::wants_continue() const {
    return exchange_->parser.http11() && !exchange_->has_unread() &&
           !header(exchange_->request.headers, "Expect").empty();
}

RequestReader::Next RequestReader::begin_body() {
    const auto length = exchange_->parser.content_length();
    if (!length) {
        state_ = State::chunked;
        return parse_chunks();
    }
    // The rest of the body bypasses the parser and is received directly into the string.
    state_ = State::sized;
    expected_ = *length;
    body_size_ = 0;
    auto& exchange = *exchange_;
    const auto here = std::min(expected_, exchange.end - exchange.begin);
    if (!grow_body(std::max(here, std::min(expected_, first_piece)))) return refuse_for_lack_of_memory();
    std::memcpy(exchange.request.body.data(), exchange.in.data() + exchange.begin, here);
    exchange.begin += here;
    if (exchange.begin == exchange.end) exchange.begin = exchange.end = 0;
    body_size_ = here;
    return take_sized_body();
}

RequestReader::Next RequestReader::take_sized_body() {
    if (body_size_ == expected_) return Next::complete;
    // Memory grows with the received bytes, not with the announced length.
    if (body_size_ == exchange_->request.body.size() && !grow_body(std::min(expected_, 2 * body_size_)))
        return refuse_for_lack_of_memory();
    return Next::more;
}

RequestReader::Next RequestReader::parse_chunks() {
    while (exchange_->has_unread()) {
        const auto used = feed();
        const auto& parser = exchange_->parser;
        if (parser.error() != ParseError::none) return refuse_because(parser.error());
        if (!hold_(exchange_->request.body.size())) return refuse_for_lack_of_memory();
        if (parser.done()) return Next::complete;
        if (used == 0) break;
    }
    // The buffer can fill up only with an endless chunk header or trailer.
    return exchange_->end < exchange_->in.size() ? Next::more : refuse_because(ParseError::malformed);
}

bool RequestReader::grow_body(std::size_t size) {
    if (!hold_(size)) return false;
    exchange_->request.body.resize(size);
    return true;
}

RequestReader::Next RequestReader::refuse(int status, const char* text) {
    refusal_ = {status, text};
    return Next::refuse;
}

RequestReader::Next RequestReader::refuse_because(ParseError error) {
    if (error == ParseError::header_too_large) return refuse(431, "the headers are too large");
    if (error == ParseError::body_too_large) return refuse(413, "the body is too large");
    return refuse(400, "not a well-formed HTTP/1.1 request");
}

RequestReader::Next RequestReader::refuse_for_lack_of_memory() {
    return refuse(503, "too many large requests at a time, try again");
}

}  // namespace net
