#include "client/client_connection.hpp"

#include <netinet/tcp.h>

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "client/socks.hpp"

namespace net {
namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Endpoints = std::vector<tcp::endpoint>;

namespace {

// A dead peer is noticed within 30 seconds, with or without unsent data.
constexpr int seconds_until_probe = 15;
constexpr int seconds_between_probes = 5;
constexpr int probes = 3;
constexpr int user_timeout_ms = 30'000;

std::string place_of(const std::string& host, const std::string& port) {
    return (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" + port;
}

// RFC 9110, 9.3.6. request_text() would not take this form of a target.
api::Result<std::string> connect_request(const ClientConfig& config) {
    const auto* proxy = std::get_if<HttpProxy>(&*config.proxy);
    if (!proxy) return socks::request(config.host, config.port);
    const std::string place = place_of(config.host, config.port);
    const std::string& authorization = proxy->authorization;
    if ((place + authorization).find_first_of("\r\n") != std::string::npos)
        return api::invalid("proxy", "a line break in the server's or the proxy's name or password");
    return "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n" +
           (authorization.empty() ? "" : "Proxy-Authorization: " + authorization + "\r\n") + "\r\n";
}

}  // namespace

std::string Target::place() const {
    const std::string server = place_of(config.host, config.port);
    if (!config.proxy) return server;
    return server + " by the proxy " + place_of(host_of(*config.proxy), port_of(*config.proxy));
}

api::Result<std::shared_ptr<const Target>> make_target(ClientConfig config) {
    auto target = std::make_shared<Target>();
    if (config.tls) {
        auto tls = ClientTls::make(config);
        if (!tls) return tls.error();
        target->tls = std::move(*tls);
    }
    if (config.proxy) {
        auto request = connect_request(config);
        if (!request) return request.error();
        target->connect_request = std::move(*request);
    }
    const bool v6 = config.host.find(':') != std::string::npos;
    const bool usual_port = config.port == (config.tls ? "443" : "80");
    target->host_header =
        (v6 ? "[" + config.host + "]" : config.host) + (usual_port ? "" : ":" + config.port);
    target->config = std::move(config);
    return std::shared_ptr<const Target>(std::move(target));
}

// May outlive the connection: a running getaddrinfo() cannot be stopped.
struct ClientConnection::Lookup {
    explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), finished(executor) {}
    tcp::resolver resolver;
    asio::steady_timer finished;
    boost::system::error_code error = asio::error::timed_out;
    Endpoints found = {};
};

ClientConnection::ClientConnection(asio::any_io_executor executor, std::shared_ptr<const Target> target)
    : target_(std::move(target)), stream_(tcp::socket(executor)), timer_(executor) {}

void ClientConnection::set_deadline(SteadyTime deadline) {
    expired_ = false;
    timer_.expires_at(deadline);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        const auto self = weak.lock();
        // The handler may be queued already when the deadline moves.
        if (error || !self || self->timer_.expiry() > std::chrono::steady_clock::now()) return;
        self->expired_ = true;
        self->stream_.cancel();
    });
}

void ClientConnection::clear_deadline() { timer_.expires_at(SteadyTime::max()); }

void ClientConnection::abort(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
    stream_.cancel();
    if (const auto lookup = lookup_.lock()) lookup->finished.cancel();
}

api::Error ClientConnection::error(const std::string& what) const {
    return {.code = api::Errc::unavailable, .message = target_->place() + ": " + what};
}

api::Error ClientConnection::verdict(const std::string& what, const boost::system::error_code& code) {
    if (!failure_.empty()) return error(failure_);
    if (expired_) return error(what + " took too long");
    if (code == asio::error::operation_aborted) return error(what + " was cancelled");
    died_ = true;
    return error(what + " failed: " + (code ? code.message() : stream_.failure()));
}

Async<Endpoints> ClientConnection::resolve(Ptr self, SteadyTime deadline) {
    const auto& config = self->target_->config;
    const std::string& host = config.proxy ? host_of(*config.proxy) : config.host;
    const std::string& port = config.proxy ? port_of(*config.proxy) : config.port;
    boost::system::error_code no_address;
    const auto address = asio::ip::make_address(host, no_address);
    auto lookup = std::make_shared<Lookup>(self->timer_.get_executor());
    self->lookup_ = lookup;
    if (!no_address) {
        // An address needs no resolver thread.
        const auto number = std::strtoul(port.c_str(), nullptr, 10);
        co_return Endpoints{tcp::endpoint(address, static_cast<unsigned short>(number))};
    }
    lookup->finished.expires_at(deadline);
    lookup->resolver.async_resolve(
        host, port,
        [lookup](const boost::system::error_code& error, const tcp::resolver::results_type& found) {
            lookup->error = error;
            for (const auto& entry : found) lookup->found.push_back(entry.endpoint());
            lookup->finished.cancel();
        });
    co_await lookup->finished.async_wait(as_tuple);
    if (!self->failure_.empty()) co_return self->error(self->failure_);
    if (lookup->found.empty())
        co_return self->error("cannot resolve the host name: " + lookup->error.message());
    co_return lookup->found;
}

Async<> ClientConnection::connect(Ptr self, SteadyTime deadline) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + self->target_->config.connect_timeout);
    const auto endpoints = co_await resolve(self, deadline);
    if (!endpoints) co_return endpoints.error();
    boost::system::error_code failed;
    for (std::size_t i = 0; i < endpoints->size(); ++i) {
        // An address that drops packets must not use up the time of the next address.
        const auto now = std::chrono::steady_clock::now();
        self->set_deadline(now + (deadline - now) / static_cast<int>(endpoints->size() - i));
        auto& socket = self->stream_.socket();
        if (socket.is_open()) socket.close(failed);
        const auto [connected] = co_await socket.async_connect((*endpoints)[i], as_tuple);
        failed = connected;
        if (!failed) break;
        if (!self->expired_ && (failed == asio::error::operation_aborted || !self->failure_.empty())) break;
    }
    if (failed || !self->usable()) co_return self->verdict("connecting", failed);
    self->tune();
    self->set_deadline(deadline);
    if (self->target_->config.proxy) {
        const auto through = co_await ask_proxy(self);
        if (!through) co_return through.error();
    }
    if (self->target_->tls) co_return co_await shake_hands(self);
    co_return api::Result<>();
}

Async<> ClientConnection::ask_proxy(Ptr self) {
    if (const auto* proxy = std::get_if<SocksProxy>(&*self->target_->config.proxy))
        co_return co_await ask_socks_proxy(self, *proxy);
    const auto sent = co_await write(self, self->target_->connect_request);
    if (!sent) co_return sent.error();
    HttpResponse response;
    ResponseParser parser(response, true);
    while (!parser.header_done()) {
        const auto received = co_await read(self, parser);
        if (!received) co_return received.error();
    }
    if (response.status == 407)
        co_return self->error(
            "the proxy wants other credentials (407): write http://USER:PASSWORD@HOST:PORT");
    if (response.status / 100 != 2)
        co_return self->error("the proxy does not connect there: it answers " +
                              std::to_string(response.status));
    // A server speaks second, in TLS and in HTTP.
    if (self->bad_answer_) co_return self->error("the proxy answers more than it was asked");
    co_return api::Result<>();
}

Async<> ClientConnection::ask_socks_proxy(Ptr self, const SocksProxy& proxy) {
    const std::string greeting = socks::greeting(proxy);
    if (auto sent = co_await write(self, greeting); !sent) co_return sent.error();
    auto answer = co_await read_exactly(self, socks::choice_size);
    if (!answer) co_return answer.error();
    const auto login = socks::wants_login(*answer, proxy);
    if (!login) co_return self->error(login.error().message);
    if (*login) {
        const std::string credentials = socks::login(proxy);
        if (auto sent = co_await write(self, credentials); !sent) co_return sent.error();
        answer = co_await read_exactly(self, socks::choice_size);
        if (!answer) co_return answer.error();
        const auto accepted = socks::check_login(*answer);
        if (!accepted) co_return self->error(accepted.error().message);
    }
    if (auto sent = co_await write(self, self->target_->connect_request); !sent) co_return sent.error();
    answer = co_await read_exactly(self, socks::reply_size);
    if (!answer) co_return answer.error();
    const auto rest = socks::rest_of_reply(*answer);
    if (!rest) co_return self->error(rest.error().message);
    answer = co_await read_exactly(self, *rest);
    if (!answer) co_return answer.error();
    co_return api::Result<>();
}

// Reads no byte more: the next ones are the server's.
Async<std::string> ClientConnection::read_exactly(Ptr self, std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t got = 0; got < size;) {
        const auto io = self->stream_.read(bytes.data() + got, size - got);
        got += io.status == IoStatus::done ? io.bytes : 0;
        if (io.status == IoStatus::done) continue;
        boost::system::error_code failed;
        if (self->may_wait(io)) {
            const auto [woken] = co_await self->stream_.wait(io.status);
            if (!woken && self->usable()) continue;
            failed = woken;
        } else if (io.status == IoStatus::eof) {
            self->died_ = true;
            co_return self->error("the proxy closed the connection without an answer");
        }
        co_return self->verdict("reading the proxy's answer", failed);
    }
    co_return bytes;
}

Async<> ClientConnection::shake_hands(Ptr self) {
    auto& stream = self->stream_;
    stream.start_tls(self->target_->tls->new_connection());
    for (;;) {
        const auto io = stream.handshake();
        if (io.status == IoStatus::done) co_return api::Result<>();
        boost::system::error_code failed;
        if (self->may_wait(io)) {
            const auto [woken] = co_await stream.wait(io.status);
            if (!woken && self->usable()) continue;
            failed = woken;
        }
        self->target_->tls->forget_session();
        co_return self->verdict("TLS handshake", failed);
    }
}

void ClientConnection::tune() {
    boost::system::error_code ignored;
    auto& socket = stream_.socket();
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const auto set = [fd = socket.native_handle()](int option, int value) {
        ::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
    };
    set(TCP_KEEPIDLE, seconds_until_probe);
    set(TCP_KEEPINTVL, seconds_between_probes);
    set(TCP_KEEPCNT, probes);
    set(TCP_USER_TIMEOUT, user_timeout_ms);
}

Async<> ClientConnection::write(Ptr self, const std::string& bytes) {
    self->received_any_ = false;
    for (std::size_t sent = 0; sent < bytes.size();) {
        const auto io = self->stream_.write(bytes.data() + sent, bytes.size() - sent);
        sent += io.bytes;
        if (io.status == IoStatus::done) continue;
        boost::system::error_code failed;
        if (self->may_wait(io)) {
            const auto [woken] = co_await self->stream_.wait(io.status);
            if (!woken && self->usable()) continue;
            failed = woken;
        }
        co_return self->verdict("sending", failed);
    }
    co_return api::Result<>();
}

// After abort() a new wait must not begin: abort() cancels only a wait that is in progress.
bool ClientConnection::may_wait(const Io& io) const {
    return usable() && (io.status == IoStatus::want_read || io.status == IoStatus::want_write ||
                        io.status == IoStatus::again);
}

// A function of its own: in the coroutine, the buffer would be part of the frame.
Io ClientConnection::read_into(ResponseParser& parser) {
    char piece[16 * 1024];
    const auto io = stream_.read(piece, sizeof(piece));
    if (io.status != IoStatus::done) return io;
    received_any_ = true;
    std::string_view bytes(piece, io.bytes);
    if (!pending_.empty()) bytes = pending_.append(bytes);
    const auto used = parser.feed(bytes);
    // Bytes after the end of the response answer no request: do not reuse this connection.
    if (parser.failed() || (parser.done() && used < bytes.size())) bad_answer_ = true;
    std::string rest(bytes.substr(used));
    pending_ = std::move(rest);
    return io;
}

Async<> ClientConnection::read(Ptr self, ResponseParser& parser) {
    // The response takes time: directly after the request there is nothing to read, so wait first.
    bool look = self->received_any_ || self->stream_.has_buffered();
    for (;; look = true) {
        const auto io = look ? self->read_into(parser) : Io{IoStatus::want_read};
        if (parser.failed()) co_return self->error("the answer is not well-formed HTTP/1.1");
        if (io.status == IoStatus::done) co_return api::Result<>();
        boost::system::error_code failed;
        if (self->may_wait(io)) {
            const auto [woken] = co_await self->stream_.wait(io.status);
            if (!woken && self->usable()) continue;
            failed = woken;
        } else if (io.status == IoStatus::eof) {
            self->died_ = true;
            if (parser.feed_eof()) co_return api::Result<>();
            co_return self->error(self->received_any_ ? "the connection ended in the middle of the answer"
                                                      : "the server closed the connection without an answer");
        }
        co_return self->verdict("reading the answer", failed);
    }
}

bool ClientConnection::looks_alive() {
    if (!reusable()) return false;
    char byte = 0;
    stream_.begin_turn();
    return stream_.read(&byte, 1).status == IoStatus::want_read;
}

}  // namespace net
