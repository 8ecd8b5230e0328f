#include "lane.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace webhook {
namespace {

net::HttpResponse no_verdict(int status, const char* text) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
            .body = std::string(text) + "\n"};
}

net::Task<net::HttpResponse> answer_within(net::Task<net::HttpResponse> answer, ReviewBudget::Share) {
    co_return co_await std::move(answer);
}

}  // namespace

Lane::Lane(boost::asio::any_io_executor executor, std::unique_ptr<kube::Clock> clock,
           std::unique_ptr<kube::ApiServer> server, net::ServerConfig config, LaneTools tools)
    : executor_(executor),
      clock_(std::move(clock)),
      server_(std::move(server)),
      budget_(config.limits.total_bytes),
      metrics_(tools.metrics),
      facts_(runtimes_, *server_, tools.pipeline),
      handler_(facts_, *clock_, tools.metrics, tools.log, tools.pipeline),
      http_(net::make_http_server(
          executor, std::move(config), [this](net::HttpRequest& request) { return admit(request); },
          tools.log)) {}

// A body is at most as large as the server allows, but its trees can be forty times that.
net::Answer Lane::admit(net::HttpRequest& request) {
    // A small body cannot hold so many; counting takes a twentieth of a review's time.
    if (request.body.size() > max_review_values && count_values(request.body) > max_review_values) {
        metrics_.count_refused(Outcome::too_large);
        return no_verdict(413, "the body holds too many values");
    }
    auto answer = handler_(request);
    auto* later = std::get_if<net::Task<net::HttpResponse>>(&answer);
    if (!later) return answer;
    // It will wait for the API server, and keep its trees for as long as that takes.
    auto share = budget_.take(count_values(request.body));
    if (share) return answer_within(std::move(*later), std::move(*share));
    metrics_.count_refused(Outcome::overloaded);
    return no_verdict(503, "too many large reviews at a time, try again");
}

void Lane::learn(const api::ObjectKey& key, const std::shared_ptr<const api::Json>& runtime) {
    executor_.execute([this, key, runtime] { runtimes_.set(key, runtime); });
}

void Lane::retire() {
    executor_.execute([this] { http_->retire(); });
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
