#include "net/client/http_client.hpp"

#include "client/connection_pool.hpp"
#include "http/http_text.hpp"

namespace net {
namespace {

// A response that is being received. On the heap, because the parser keeps a reference to the response.
struct Incoming {
    explicit Incoming(bool without_body) : parser(response, without_body) {}
    HttpResponse response = {};
    ResponseParser parser;
};

// Limit of the body of a response that is not 2xx.
constexpr std::size_t max_refusal = 1024 * 1024;

struct Begun {
    Lease lease;
    std::unique_ptr<Incoming> incoming;
};

SteadyTime now() { return std::chrono::steady_clock::now(); }

// Sends the request and reads until the headers are complete.
Async<Begun> begin(std::shared_ptr<ConnectionPool> pool, HttpRequest request) {
    const auto target = pool->target();
    const auto deadline = now() + target->config.request_timeout;
    const auto text = request_text(request, target->host_header);
    if (!text) co_return text.error();
    auto lease = co_await ConnectionPool::acquire(pool, deadline);
    if (!lease) co_return lease.error();
    for (bool fresh = !lease->reused();; fresh = true) {
        if (fresh) {
            lease->renew();
            const auto connected = co_await ClientConnection::connect(lease->connection(), deadline);
            if (!connected) co_return connected.error();
        }
        auto incoming = std::make_unique<Incoming>(request.method == "HEAD");
        const auto connection = lease->connection();
        connection->set_deadline(deadline);
        auto progress = co_await ClientConnection::write(connection, *text);
        while (progress && !incoming->parser.header_done())
            progress = co_await ClientConnection::read(connection, incoming->parser);
        if (progress) co_return Begun{std::move(*lease), std::move(incoming)};
        // The server may have closed an idle connection just before this use. Then it has not seen the
        // request, so one more attempt is safe.
        const bool worth_it = !fresh && connection->died() && !connection->received_any();
        if (!worth_it) co_return progress.error();
    }
}

void give_back_if_reusable(Lease& lease, const Incoming& incoming) {
    lease.connection()->clear_deadline();
    if (incoming.parser.keep_alive() && lease.connection()->reusable()) lease.give_back();
}

api::Error too_large(const ConnectionPool& pool, std::size_t max_body) {
    return {.code = api::Errc::too_large,
            .message =
                pool.target()->place() + ": the answer has more than " + std::to_string(max_body) + " bytes"};
}

Async<HttpResponse> finish(std::shared_ptr<ConnectionPool> pool, Begun begun, std::size_t max_body) {
    auto& parser = begun.incoming->parser;
    const std::string& body = begun.incoming->response.body;
    // The bytes that arrived with the headers count as well.
    while (!parser.done() && body.size() <= max_body)
        if (auto progress = co_await ClientConnection::read(begun.lease.connection(), parser); !progress)
            co_return progress.error();
    if (body.size() > max_body) co_return too_large(*pool, max_body);
    give_back_if_reusable(begun.lease, *begun.incoming);
    co_return std::move(begun.incoming->response);
}

Async<HttpResponse> exchange(std::shared_ptr<ConnectionPool> pool, HttpRequest request,
                             std::size_t max_body) {
    auto begun = co_await begin(pool, std::move(request));
    if (!begun) co_return begun.error();
    co_return co_await finish(std::move(pool), std::move(*begun), max_body);
}

class BodyStream final : public ByteStream {
public:
    BodyStream(Begun begun, std::chrono::seconds idle_timeout)
        : state_(std::make_shared<State>(std::move(begun), idle_timeout)) {}

    Async<std::string> read() override { return read(state_); }

private:
    struct State {
        State(Begun the_begun, std::chrono::seconds the_timeout)
            : begun(std::move(the_begun)), idle_timeout(the_timeout) {}
        Begun begun;
        std::chrono::seconds idle_timeout;
        std::optional<api::Error> failed = {};
        bool ended = false;
    };

    static Async<std::string> read(std::shared_ptr<State> state) {
        auto& incoming = *state->begun.incoming;
        auto& body = incoming.response.body;
        while (body.empty()) {
            if (state->failed) co_return *state->failed;
            if (state->ended) co_return std::string();
            if (incoming.parser.done()) {
                state->ended = true;
                give_back_if_reusable(state->begun.lease, incoming);
                co_return std::string();
            }
            const auto connection = state->begun.lease.connection();
            connection->set_deadline(now() + state->idle_timeout);
            const auto progress = co_await ClientConnection::read(connection, incoming.parser);
            if (!progress) state->failed = progress.error();
        }
        co_return std::exchange(body, {});
    }

    std::shared_ptr<State> state_;
};

Async<HttpClient::Opened> open_stream(std::shared_ptr<ConnectionPool> pool, HttpRequest request,
                                      std::chrono::seconds idle_timeout) {
    auto begun = co_await begin(pool, std::move(request));
    if (!begun) co_return begun.error();
    HttpClient::Opened opened;
    if (begun->incoming->response.status / 100 != 2) {
        auto response = co_await finish(std::move(pool), std::move(*begun), max_refusal);
        if (!response) co_return response.error();
        opened.response = std::move(*response);
        co_return opened;
    }
    begun->lease.connection()->clear_deadline();
    opened.response.status = begun->incoming->response.status;
    opened.response.headers = begun->incoming->response.headers;
    opened.stream = std::make_unique<BodyStream>(std::move(*begun), idle_timeout);
    co_return opened;
}

// Its functions are no coroutines: the coroutines that they return hold the pool and not this object, which
// may be destroyed before.
class Client final : public HttpClient {
public:
    explicit Client(std::shared_ptr<ConnectionPool> pool) : pool_(std::move(pool)) {}
    ~Client() override { pool_->close(); }

    Async<HttpResponse> send(HttpRequest request, std::size_t max_body) override {
        return exchange(pool_, std::move(request), max_body);
    }
    Async<Opened> open(HttpRequest request, std::chrono::seconds idle_timeout) override {
        return open_stream(pool_, std::move(request), idle_timeout);
    }
    api::Result<> reconfigure(ClientConfig config) override { return pool_->reconfigure(std::move(config)); }

private:
    std::shared_ptr<ConnectionPool> pool_;
};

}  // namespace

api::Result<std::unique_ptr<HttpClient>> make_http_client(boost::asio::any_io_executor executor,
                                                          ClientConfig config) {
    auto target = make_target(std::move(config));
    if (!target) return target.error();
    auto pool = std::make_shared<ConnectionPool>(std::move(executor), std::move(*target));
    return std::unique_ptr<HttpClient>(std::make_unique<Client>(std::move(pool)));
}

}  // namespace net
