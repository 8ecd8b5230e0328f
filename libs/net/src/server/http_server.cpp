#include "net/server/http_server.hpp"

#include <boost/asio/co_spawn.hpp>

#include "server/session.hpp"

namespace net {
namespace {

class Server final : public HttpServer {
public:
    Server(boost::asio::any_io_executor executor, ServerConfig config, Handler handler, Log& log)
        : executor_(executor),
          table_(std::make_shared<ConnectionTable>(executor, std::move(config), std::move(handler), log,
                                                   Session::serve)) {}
    ~Server() override { table_->shutdown(); }

    api::Result<std::uint16_t> start() override {
        auto port = table_->listen();
        // A server that no longer accepts is useless: pass the exception on, out of the run() of the context.
        const auto on_end = [](std::exception_ptr thrown) {
            if (thrown) std::rethrow_exception(thrown);
        };
        if (port) boost::asio::co_spawn(executor_, ConnectionTable::accept_loop(table_), on_end);
        return port;
    }
    void close_after_response() override { table_->closes_after_response = true; }
    Task<> drain(std::chrono::milliseconds grace) override { return ConnectionTable::drain(table_, grace); }
    const ServerStats& stats() const override { return table_->stats; }

private:
    boost::asio::any_io_executor executor_;
    std::shared_ptr<ConnectionTable> table_;
};

}  // namespace

std::unique_ptr<HttpServer> make_http_server(boost::asio::any_io_executor executor, ServerConfig config,
                                             Handler handler, Log& log) {
    return std::make_unique<Server>(std::move(executor), std::move(config), std::move(handler), log);
}

}  // namespace net
