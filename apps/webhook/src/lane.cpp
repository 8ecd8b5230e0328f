#include "lane.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace webhook {

Lane::Lane(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock,
           std::unique_ptr<kube::ApiServer> server, net::ServerConfig config, LaneTools tools)
    : executor_(executor),
      clock_(std::move(clock)),
      server_(std::move(server)),
      facts_(runtimes_, *server_),
      handler_(facts_, *clock_, tools.metrics, tools.log),
      http_(net::make_http_server(
          executor, std::move(config), [this](net::HttpRequest& request) { return handler_(request); },
          tools.log)) {}

void Lane::learn(const api::ObjectKey& key, const std::shared_ptr<const api::Json>& runtime) {
    executor_.execute([this, key, runtime] { runtimes_.set(key, runtime); });
}

net::Task<> Lane::drain_here(Lane& lane, std::chrono::milliseconds grace) {
    co_await lane.http_->drain(grace);
    // Ends its idle connections, so that nothing keeps the thread busy.
    lane.server_.reset();
}

net::Task<> Lane::drain(std::chrono::milliseconds grace) {
    // Named: g++ 12 destroys temporaries in a co_await expression twice at times.
    auto here = drain_here(*this, grace);
    co_await boost::asio::co_spawn(executor_, std::move(here), boost::asio::use_awaitable);
}

}  // namespace webhook
