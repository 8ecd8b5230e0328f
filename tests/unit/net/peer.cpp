#include "peer.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace test {
namespace asio = boost::asio;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;

namespace {

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

ssl::context context_of(const PeerTls& tls, bool server) {
    ssl::context context(server ? ssl::context::tls_server : ssl::context::tls_client);
    if (!tls.identity.cert.empty()) {
        context.use_certificate_chain(asio::buffer(tls.identity.cert));
        context.use_private_key(asio::buffer(tls.identity.key), ssl::context::pem);
    }
    if (!tls.ca.empty()) context.add_certificate_authority(asio::buffer(tls.ca));
    if (server ? tls.ask_for_certificate : !tls.ca.empty())
        context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    // OpenSSL does not resume sessions without a context id if clients need certificates.
    constexpr unsigned char sessions[] = "test";
    SSL_CTX_set_session_id_context(context.native_handle(), sessions, sizeof sessions);
    if (tls.max_version) SSL_CTX_set_max_proto_version(context.native_handle(), tls.max_version);
    if (!tls.ciphers.empty()) SSL_CTX_set_cipher_list(context.native_handle(), tls.ciphers.c_str());
    return context;
}

template <class Stream>
class PeerOver final : public Peer {
public:
    template <class... Arguments>
    explicit PeerOver(Arguments&&... arguments) : stream(std::forward<Arguments>(arguments)...) {}

    net::Task<> send(std::string bytes) override {
        co_await asio::async_write(stream, asio::buffer(bytes), as_tuple);
    }
    net::Task<std::string> receive() override {
        std::string bytes(16 * 1024, '\0');
        const auto [error, count] = co_await stream.async_read_some(asio::buffer(bytes), as_tuple);
        if (error) ended_properly = error == asio::error::eof;
        bytes.resize(count);
        co_return bytes;
    }
    void half_close() override { stream.lowest_layer().shutdown(tcp::socket::shutdown_send); }
    void reset() override {
        boost::system::error_code ignored;
        stream.lowest_layer().set_option(asio::socket_base::linger(true, 0), ignored);
        stream.lowest_layer().close(ignored);
    }
    net::Task<> close() override {
        if constexpr (!std::is_same_v<Stream, tcp::socket>) {
            // As if the close_notify of the other end had arrived: ours is sent, and close() does not wait.
            SSL_set_shutdown(stream.native_handle(), SSL_RECEIVED_SHUTDOWN);
            co_await stream.async_shutdown(as_tuple);
        }
        boost::system::error_code ignored;
        stream.lowest_layer().close(ignored);
        co_return;
    }

    net::Task<> renegotiate() override {
        if constexpr (!std::is_same_v<Stream, tcp::socket>) {
            SSL_set_options(stream.native_handle(), SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION);
            SSL_renegotiate(stream.native_handle());
            co_await stream.async_handshake(ssl::stream_base::client, as_tuple);
        }
        co_return;
    }

    Stream stream;
};

using PlainPeer = PeerOver<tcp::socket>;
using TlsPeer = PeerOver<ssl::stream<tcp::socket>>;

void remember_facts(TlsPeer& peer) {
    SSL* handle = peer.stream.native_handle();
    peer.version = SSL_get_version(handle);
    peer.cipher = SSL_get_cipher_name(handle);
    peer.resumed = SSL_session_reused(handle) == 1;
    if (X509* certificate = SSL_get0_peer_certificate(handle)) {
        char name[256] = {};
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof(name));
        peer.common_name = name;
    }
}

// Returns the end of a message with Content-Length (none: no body); npos while it is incomplete.
std::size_t end_of_message(const std::string& bytes) {
    const auto head = bytes.find("\r\n\r\n");
    if (head == std::string::npos) return head;
    std::string lower = bytes.substr(0, head + 2);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto field = lower.find("\r\ncontent-length:");
    const auto length = field == std::string::npos ? 0 : std::stoul(lower.substr(field + 17));
    return bytes.size() >= head + 4 + length ? head + 4 + length : std::string::npos;
}

}  // namespace

net::Task<std::string> Peer::ask(std::string bytes) {
    co_await send(std::move(bytes));
    co_return co_await response();
}

net::Task<std::string> Peer::response() {
    for (;;) {
        if (const auto end = end_of_message(kept_); end != std::string::npos) {
            auto message = kept_.substr(0, end);
            kept_.erase(0, end);
            co_return message;
        }
        const auto bytes = co_await receive();
        if (bytes.empty()) co_return std::exchange(kept_, {});
        kept_ += bytes;
    }
}

net::Task<std::string> Peer::rest() {
    auto all = std::exchange(kept_, {});
    for (;;) {
        const auto bytes = co_await receive();
        if (bytes.empty()) co_return all;
        all += bytes;
    }
}

net::Task<PeerPtr> connect(std::uint16_t port, std::optional<PeerTls> tls) {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    if (!tls) co_return std::make_unique<PlainPeer>(std::move(socket));
    auto context = context_of(*tls, false);
    auto peer = std::make_unique<TlsPeer>(std::move(socket), context);
    SSL* handle = peer->stream.native_handle();
    if (!tls->server_name.empty()) {
        SSL_set_tlsext_host_name(handle, tls->server_name.c_str());
        peer->stream.set_verify_callback(ssl::host_name_verification(tls->server_name));
    }
    if (!tls->alpn.empty())
        SSL_set_alpn_protos(handle, reinterpret_cast<const unsigned char*>(tls->alpn.data()),
                            static_cast<unsigned>(tls->alpn.size()));
    co_await peer->stream.async_handshake(ssl::stream_base::client, asio::use_awaitable);
    remember_facts(*peer);
    co_return peer;
}

struct ScriptedServer::Impl {
    Impl(const asio::any_io_executor& executor, Script the_script, const std::optional<PeerTls>& tls)
        : script(std::move(the_script)),
          acceptor(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        if (!tls) return;
        context.emplace(context_of(*tls, true));
        cut = tls->cut;
    }

    static net::Task<> serve(std::shared_ptr<Impl> impl, tcp::socket socket, int number) {
        socket.set_option(tcp::no_delay(true));
        if (!impl->context) {
            PlainPeer peer(std::move(socket));
            co_await impl->script(peer, number);
            co_return;
        }
        if (number == impl->cut) co_return;
        TlsPeer peer(std::move(socket), *impl->context);
        const auto [failed] = co_await peer.stream.async_handshake(ssl::stream_base::server, as_tuple);
        if (failed) co_return;
        remember_facts(peer);
        co_await impl->script(peer, number);
    }

    static net::Task<> accept(std::shared_ptr<Impl> impl) {
        for (;;) {
            tcp::socket socket(impl->acceptor.get_executor());
            const auto [error] = co_await impl->acceptor.async_accept(socket, as_tuple);
            if (error) co_return;
            asio::co_spawn(impl->acceptor.get_executor(), serve(impl, std::move(socket), impl->count++),
                           asio::detached);
        }
    }

    Script script;
    tcp::acceptor acceptor;
    std::optional<ssl::context> context = {};
    int cut = -1;
    int count = 0;
};

ScriptedServer::ScriptedServer(asio::any_io_executor executor, Script script, std::optional<PeerTls> tls)
    : impl_(std::make_shared<Impl>(executor, std::move(script), tls)) {
    asio::co_spawn(executor, Impl::accept(impl_), asio::detached);
}

ScriptedServer::~ScriptedServer() { stop(); }
void ScriptedServer::stop() {
    boost::system::error_code ignored;
    impl_->acceptor.close(ignored);
}
std::uint16_t ScriptedServer::port() const { return impl_->acceptor.local_endpoint().port(); }
int ScriptedServer::connections() const { return impl_->count; }

int status_of(const std::string& response) {
    return response.starts_with("HTTP/1.1 ") ? std::atoi(response.c_str() + 9) : 0;
}

std::string body_of(const std::string& response) {
    const auto head = response.find("\r\n\r\n");
    return head == std::string::npos ? "" : response.substr(head + 4);
}

}  // namespace test
