#include "net/http_server.hpp"

#include <boost/asio/co_spawn.hpp>

#include "server_core.hpp"

namespace net {
namespace {

class Server final : public HttpServer {
public:
    Server(boost::asio::any_io_executor executor, ServerConfig config, Handler handler, Log& log)
        : executor_(executor),
          core_(std::make_shared<ServerCore>(executor, std::move(config), std::move(handler), log)) {}
    ~Server() override { core_->shutdown(); }

    api::Result<std::uint16_t> start() override {
        auto port = core_->listen();
        // A server that no longer accepts is useless: pass the exception on, out of the run() of the context.
        const auto on_end = [](std::exception_ptr thrown) {
            if (thrown) std::rethrow_exception(thrown);
        };
        if (port) boost::asio::co_spawn(executor_, ServerCore::accept_loop(core_), on_end);
        return port;
    }
    void retire() override { core_->retired = true; }
    Task<> drain(std::chrono::milliseconds grace) override { return ServerCore::drain(core_, grace); }
    const ServerStats& stats() const override { return core_->stats; }

private:
    boost::asio::any_io_executor executor_;
    std::shared_ptr<ServerCore> core_;
};

}  // namespace

std::unique_ptr<HttpServer> make_http_server(boost::asio::any_io_executor executor, ServerConfig config,
                                             Handler handler, Log& log) {
    return std::make_unique<Server>(std::move(executor), std::move(config), std::move(handler), log);
}

}  // namespace net
