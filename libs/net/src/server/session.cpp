#include "server/session.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "http/http_text.hpp"
#include "tls/tls_impl.hpp"

namespace net {
namespace asio = boost::asio;

namespace {

// Pipelined requests of one connection before other connections get a turn.
constexpr int requests_per_turn = 8;
// One that takes longer is the last of its turn.
constexpr std::chrono::milliseconds long_request{5};
constexpr std::string_view continue_text = "HTTP/1.1 100 Continue\r\n\r\n";

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

HttpResponse plain(std::string_view text) {
    return {.headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::string(text) + "\n"};
}

std::string address_of(const Session::Socket& socket) {
    boost::system::error_code gone;
    const auto endpoint = socket.remote_endpoint(gone);
    if (gone) return "";
    const auto address = endpoint.address();
    // Of a client that uses IPv4, on a socket of both.
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
    return address.to_string();
}

}  // namespace

Session::Session(std::shared_ptr<ConnectionTable> table, Socket socket)
    : table_(std::move(table)),
      peer_(address_of(socket)),
      stream_(std::move(socket)),
      reader_({.header_bytes = table_->config.limits.header_bytes,
               .body_bytes = table_->config.limits.body_bytes},
              [this](std::size_t size) { return table_->hold(*this, size); }) {
    table_->opened(*this);
    boost::system::error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

Session::~Session() {
    finish_request();
    table_->closed(*this);
}

Task<> Session::serve(std::shared_ptr<ConnectionTable> table, Socket socket) {
    Session session(table, std::move(socket));
    try {
        co_await session.run();
    } catch (const std::exception& e) {
        table->log.error("connection ended by an exception", {{"error", e.what()}});
    }
}

Task<bool> Session::shake_hands() {
    auto ssl = table_->config.tls->impl().new_connection();
    if (!ssl) co_return false;
    if (!table_->config.asks_for_certificates) SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);
    stream_.start_tls(std::move(ssl));
    table_->enter(*this, Phase::client_hello);
    bool greeted = false;
    for (;;) {
        const auto io = stream_.handshake();
        if (!std::exchange(greeted, stream_.handshake_began()) && greeted)
            table_->enter(*this, Phase::handshake);
        if (io.status == IoStatus::done) {
            // The server has nothing to send now that would carry the ACK of the client's last flight. A
            // client with Nagle's algorithm would hold its request back until that ACK.
            const int on = 1;
            ::setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
            co_return true;
        }
        if (io.status == IoStatus::eof || io.status == IoStatus::failed) {
            table_->handshake_failed(peer_, stream_.rejected(), stream_.failure());
            co_return false;
        }
        co_await stream_.wait(io.status);
        if (stopped()) co_return false;
    }
}

// One loop, without nested coroutines: each would cost a frame per request.
Task<> Session::run() {
    if (table_->config.tls && !co_await shake_hands()) co_return;
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
            table_->enter(*this, known ? Phase::idle : Phase::first_request);
            if (table_->draining && served && !has_anything()) co_return;
            co_await stream_.wait(IoStatus::want_read);
            // A request that arrived just before the drain is still answered.
            if (stop == Stop::drained && has_anything()) table_->revive(*this);
            if (stopped()) co_return;
        }
        begin_request();
        Next next = receive();
        while (next == Next::wait) {
            co_await stream_.wait(waiting_for_);
            if (stopped()) break;
            next = receive();
        }
        if (stop != Stop::timeout && (next == Next::gone || stopped())) co_return;

        HttpResponse response;
        if (stop == Stop::timeout) {
            response = refuse(408, "the request took too long to arrive");
        } else if (next == Next::refuse) {
            response = refuse(reader_.refusal().status, reader_.refusal().text);
        } else {
            table_->enter(*this, Phase::handler);
            const InFlight in_flight(table_->stats);
            served = true;
            try {
                exchange_->request.peer = peer_;
                auto answer = table_->handler(exchange_->request);
                if (auto* later = std::get_if<Task<HttpResponse>>(&answer)) {
                    exchange_->free_input();
                    response = co_await std::move(*later);
                } else {
                    response = std::move(std::get<HttpResponse>(answer));
                }
            } catch (const std::exception& e) {
                response = after_exception(e.what());
            } catch (...) {
                response = after_exception("unknown exception");
            }
            const IsToKnown& is_to_known = table_->config.is_to_known;
            if (!is_to_known || is_to_known(response)) table_->become_known(*this);
        }
        const SteadyTime began = entered;
        hold_answer(response);
        put_together(response);
        // The text is in `out` now: a client that does not read must not hold it twice.
        free_text(response.body);
        table_->enter(*this, Phase::write);
        if (entered - began > long_request) in_a_row = requests_per_turn;
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
    // Closing a socket with unread bytes would reset the connection, and the client might lose the response.
    stream_.end_writing();
    table_->enter(*this, Phase::linger);
    while (stream_.discard_received() && !stopped()) co_await stream_.wait(IoStatus::want_read);
}

void Session::begin_request() {
    table_->enter(*this, Phase::header);
    if (!exchange_) exchange_ = table_->take_exchange();
    table_->release(*this);
    reader_.begin(*exchange_);
}

void Session::finish_request() {
    table_->release(*this);
    if (exchange_) table_->give_back(std::move(exchange_));
}

// From here on the response is counted in place of the body.
void Session::hold_answer(HttpResponse& response) {
    table_->release(*this);
    auto& body = exchange_->request.body;
    if (body.capacity() + response.body.size() > ServerLimits::uncounted_bytes) free_text(body);
    if (!table_->hold(*this, response.body.size())) {
        ++table_->stats.refusals.of(503);
        response = own_response(503, "too many large answers at a time, try again");
        response.close = false;
    }
}

void Session::put_together(const HttpResponse& response) {
    close_after_ = close_after_ || response.close || table_->closes_after_response || stopped() ||
                   (known && table_->keeps_too_many());
    exchange_->out.clear();
    append_response(exchange_->out, response, close_after_, exchange_->request.method == "HEAD");
}

HttpResponse Session::after_exception(const char* what) {
    ++table_->stats.handler_errors;
    table_->log.error("request handler failed", {{"target", exchange_->request.target}, {"error", what}});
    auto response = own_response(500, "internal error");
    response.close = false;
    return response;
}

bool Session::has_anything() {
    char byte = 0;
    return has_unread() || stream_.has_buffered() ||
           ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

// Does everything that is possible without waiting.
Session::Next Session::receive() {
    for (;;) {
        const auto next = reader_.advance();
        if (next == RequestReader::Next::complete || next == RequestReader::Next::body)
            close_after_ = close_after_ || !reader_.keep_alive();
        if (next == RequestReader::Next::complete) return Next::complete;
        if (next == RequestReader::Next::refuse) return Next::refuse;
        if (next == RequestReader::Next::body) {
            if (!welcome_body()) return Next::gone;
            continue;
        }
        const auto room = reader_.room();
        const Io io = stream_.read(room.data(), room.size());
        reader_.received(io.bytes);
        if (io.status == IoStatus::done) continue;
        if (stream_.flooded()) ++table_->stats.floods;
        waiting_for_ = io.status;
        return io.status == IoStatus::eof || io.status == IoStatus::failed ? Next::gone : Next::wait;
    }
}

// Returns false if the client's receive window has no room even for the interim response: it could not
// receive a response either.
bool Session::welcome_body() {
    table_->enter(*this, Phase::body);
    return !reader_.wants_continue() ||
           stream_.write(continue_text.data(), continue_text.size()).status == IoStatus::done;
}

// The connection ends after this response.
HttpResponse Session::refuse(int status, std::string_view text) {
    ++table_->stats.refusals.of(status);
    return own_response(status, text);
}

HttpResponse Session::own_response(int status, std::string_view text) const {
    const Refuse& refuse = table_->config.refuse;
    HttpResponse response = refuse ? refuse(status, text) : plain(text);
    response.status = status;
    response.close = true;
    return response;
}

}  // namespace net
