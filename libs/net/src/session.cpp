#include "session.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <exception>
#include <utility>

#include "http_text.hpp"
#include "tls_impl.hpp"

namespace net {
namespace asio = boost::asio;

namespace {

// Reads in a row before others get a turn.
constexpr int reads_per_turn = 8;
// The same for requests of one connection that are there already.
constexpr int requests_per_turn = 8;
constexpr std::string_view continue_text = "HTTP/1.1 100 Continue\r\n\r\n";

bool expects_body(std::string_view method) {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

struct InFlight {
    explicit InFlight(ServerStats& the_stats) : stats(the_stats) {
        ++stats.requests;
        ++stats.in_flight;
    }
    ~InFlight() { --stats.in_flight; }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ServerStats& stats;
};

HttpResponse plain(int status, std::string_view text) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
            .body = std::string(text) + "\n",
            .close = true};
}

}  // namespace

Session::Session(std::shared_ptr<ServerCore> core, Socket socket)
    : core_(std::move(core)), stream_(std::move(socket)) {
    core_->opened(*this);
    boost::system::error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

Session::~Session() {
    finish_request();
    core_->closed(*this);
}

Task<> Session::serve(std::shared_ptr<ServerCore> core, Socket socket) {
    Session session(core, std::move(socket));
    try {
        co_await session.run();
    } catch (const std::exception& e) {
        core->log.error("connection ended by an exception", {{"error", e.what()}});
    }
}

Task<bool> Session::shake_hands() {
    auto ssl = core_->config.tls->impl().new_connection();
    if (!ssl) co_return false;
    stream_.start_tls(std::move(ssl));
    core_->enter(*this, Phase::greeting);
    bool greeted = false;
    for (;;) {
        const auto io = stream_.handshake();
        if (!std::exchange(greeted, stream_.handshake_began()) && greeted)
            core_->enter(*this, Phase::handshake);
        if (io.status == IoStatus::done) {
            // We have nothing to say now that would carry the ACK of the client's last flight, and a client
            // with Nagle's algorithm on would hold its request back for it.
            const int on = 1;
            ::setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
            co_return true;
        }
        if (io.status == IoStatus::eof || io.status == IoStatus::failed) {
            ++core_->stats.handshake_errors;
            if (core_->log.enabled(LogLevel::debug))
                core_->log.debug("TLS handshake failed", {{"error", stream_.failure()}});
            co_return false;
        }
        co_await stream_.wait(io.status);
        if (stopped()) co_return false;
    }
}

// One loop on purpose: each nested coroutine would cost a frame per request.
Task<> Session::run() {
    if (core_->config.tls && !co_await shake_hands()) co_return;
    int in_a_row = 0;
    while (!close_after_) {
        if (++in_a_row > requests_per_turn) {
            in_a_row = 0;
            co_await asio::post(stream_.socket().get_executor(), asio::use_awaitable);
            if (stopped()) co_return;
        }
        if (!has_unread() && !stream_.has_buffered()) {
            in_a_row = 0;
            finish_request();
            core_->enter(*this, served ? Phase::idle : Phase::fresh);
            if (core_->draining && served && !has_anything()) co_return;
            co_await stream_.wait(IoStatus::want_read);
            // A request that came just before the end is still answered.
            if (stop == Stop::drained && has_anything()) core_->revive(*this);
            if (stopped()) co_return;
        }
        begin_request();
        Next next = receive();
        while (next != Next::complete && next != Next::refuse && next != Next::gone) {
            if (next == Next::yield)
                co_await asio::post(stream_.socket().get_executor(), asio::use_awaitable);
            else
                co_await stream_.wait(next == Next::want_read ? IoStatus::want_read : IoStatus::want_write);
            if (stopped()) break;
            next = receive();
        }
        if (stop == Stop::timeout) next = refuse(408, "the request took too long to arrive");
        if (next == Next::gone || (stopped() && stop != Stop::timeout)) co_return;

        HttpResponse response;
        if (next == Next::refuse) {
            ++core_->stats.protocol_errors;
            response = std::move(refusal_);
        } else {
            core_->enter(*this, Phase::handler);
            const InFlight in_flight(core_->stats);
            served = true;
            try {
                auto answer = core_->handler(exchange_->request);
                if (auto* later = std::get_if<Task<HttpResponse>>(&answer))
                    response = co_await std::move(*later);
                else
                    response = std::move(std::get<HttpResponse>(answer));
            } catch (const std::exception& e) {
                response = after_exception(e.what());
            } catch (...) {
                response = after_exception("unknown exception");
            }
        }
        put_together(response);
        // It is in `out` now; whoever does not read must not cost it twice.
        response.body = std::string();
        core_->enter(*this, Phase::write);
        const auto& out = exchange_->out;
        for (std::size_t sent = 0; sent < out.size();) {
            const auto io = stream_.write(out.data() + sent, out.size() - sent);
            sent += io.bytes;
            if (io.status == IoStatus::done) continue;
            if (io.status == IoStatus::eof || io.status == IoStatus::failed || stopped()) co_return;
            co_await stream_.wait(io.status);
            if (stopped()) co_return;
        }
    }
    finish_request();
    // Closing a socket with unread bytes would reset the connection, and the answer might be lost with it.
    stream_.end_writing();
    core_->enter(*this, Phase::linger);
    while (stream_.discard_received() && !stopped()) co_await stream_.wait(IoStatus::want_read);
}

void Session::begin_request() {
    core_->enter(*this, Phase::header);
    if (!exchange_) exchange_ = core_->take_exchange();
    core_->release(*this);
    const auto& limits = core_->config.limits;
    const RequestParser::Limits parser_limits{.header_bytes = limits.header_bytes,
                                              .body_bytes = limits.body_bytes};
    exchange_->parser.begin(exchange_->request, parser_limits);
    state_ = State::header;
}

void Session::finish_request() {
    core_->release(*this);
    if (exchange_) core_->give_back(std::move(exchange_));
}

void Session::put_together(const HttpResponse& response) {
    close_after_ = close_after_ || response.close || core_->retired || stopped();
    exchange_->out.clear();
    append_response(exchange_->out, response, close_after_, exchange_->request.method == "HEAD");
}

HttpResponse Session::after_exception(const char* what) {
    ++core_->stats.handler_errors;
    core_->log.error("request handler failed", {{"target", exchange_->request.target}, {"error", what}});
    auto response = plain(500, "internal error");
    response.close = false;
    return response;
}

bool Session::has_anything() {
    char byte = 0;
    return has_unread() || stream_.has_buffered() ||
           ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

// Everything that can be done without waiting.
Session::Next Session::receive() {
    for (int reads = 0;;) {
        const auto next = state_ == State::header    ? parse_header()
                          : state_ == State::chunked ? parse_chunks()
                                                     : take_sized_body();
        if (next != Next::more) return next;
        if (++reads > reads_per_turn) return Next::yield;
        auto& exchange = *exchange_;
        Io io;
        if (state_ == State::sized) {
            auto& body = exchange.request.body;
            io = stream_.read(body.data() + body_size_, body.size() - body_size_);
            body_size_ += io.bytes;
        } else {
            io = stream_.read(exchange.in.data() + exchange.end, exchange.in.size() - exchange.end);
            exchange.end += io.bytes;
        }
        switch (io.status) {
            case IoStatus::done: break;
            case IoStatus::want_read: return Next::want_read;
            case IoStatus::want_write: return Next::want_write;
            default: return Next::gone;
        }
    }
}

std::size_t Session::feed() {
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

Session::Next Session::parse_header() {
    if (!has_unread()) return Next::more;
    feed();
    const auto& parser = exchange_->parser;
    if (parser.error() != ParseError::none) return refuse_because(parser.error());
    if (!parser.header_done())
        return exchange_->end < exchange_->in.size() ? Next::more
                                                     : refuse_because(ParseError::header_too_large);
    return after_header();
}

Session::Next Session::after_header() {
    const auto& parser = exchange_->parser;
    const auto& request = exchange_->request;
    if (!parser.keep_alive()) close_after_ = true;
    if (parser.http11() && header(request.headers, "Host").empty())
        return refuse(400, "the Host header is missing");
    const auto length = parser.content_length();
    if (!length && !parser.chunked() && expects_body(request.method))
        return refuse(411, "send a Content-Length or a chunked body");
    const auto expectation = header(request.headers, "Expect");
    if (!expectation.empty() && !same_name(expectation, "100-continue"))
        return refuse(417, "only 100-continue can be expected");
    if (parser.done()) return Next::complete;
    core_->enter(*this, Phase::body);
    // Fits into any socket buffer; who does not take even this will not get an answer either.
    if (!expectation.empty() && parser.http11() && !has_unread() &&
        stream_.write(continue_text.data(), continue_text.size()).status != IoStatus::done)
        return Next::gone;
    if (!length) {
        state_ = State::chunked;
        return parse_chunks();
    }
    // The rest goes past the parser, straight into the body.
    state_ = State::sized;
    expected_ = *length;
    body_size_ = 0;
    auto& exchange = *exchange_;
    const auto here = std::min(expected_, exchange.end - exchange.begin);
    if (!grow_body(std::max(here, std::min(expected_, ServerLimits::uncounted_bytes))))
        return refuse_for_lack_of_memory();
    std::memcpy(exchange.request.body.data(), exchange.in.data() + exchange.begin, here);
    exchange.begin += here;
    if (exchange.begin == exchange.end) exchange.begin = exchange.end = 0;
    body_size_ = here;
    return take_sized_body();
}

Session::Next Session::take_sized_body() {
    if (body_size_ == expected_) return Next::complete;
    // Memory follows what has arrived, not what was announced.
    if (body_size_ == exchange_->request.body.size() && !grow_body(std::min(expected_, 2 * body_size_)))
        return refuse_for_lack_of_memory();
    return Next::more;
}

Session::Next Session::parse_chunks() {
    while (has_unread()) {
        const auto used = feed();
        const auto& parser = exchange_->parser;
        if (parser.error() != ParseError::none) return refuse_because(parser.error());
        if (!core_->hold(*this, exchange_->request.body.size())) return refuse_for_lack_of_memory();
        if (parser.done()) return Next::complete;
        if (used == 0) break;
    }
    // Only a chunk header or trailer without end fills the buffer.
    return exchange_->end < exchange_->in.size() ? Next::more : refuse_because(ParseError::malformed);
}

bool Session::grow_body(std::size_t size) {
    if (!core_->hold(*this, size)) return false;
    exchange_->request.body.resize(size);
    return true;
}

Session::Next Session::refuse(int status, const char* text) {
    close_after_ = true;
    refusal_ = plain(status, text);
    return Next::refuse;
}

Session::Next Session::refuse_because(ParseError error) {
    if (error == ParseError::header_too_large) return refuse(431, "the headers are too large");
    if (error == ParseError::body_too_large) return refuse(413, "the body is too large");
    return refuse(400, "not a well-formed HTTP/1.1 request");
}

Session::Next Session::refuse_for_lack_of_memory() {
    return refuse(503, "too many large requests at a time, try again");
}

}  // namespace net
