#pragma once
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <deque>
#include <map>

#include "kube/client/https_api_server.hpp"
#include "recording_sink.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

/// An HttpsApiServer over a client whose answers a test sets.

using namespace std::chrono_literals;
using api::Errc;

class FakeStream final : public net::ByteStream {
public:
    explicit FakeStream(std::deque<api::Result<std::string>> pieces) : pieces_(std::move(pieces)) {}
    net::Async<std::string> read() override {
        if (pieces_.empty()) co_return std::string();
        auto piece = std::move(pieces_.front());
        pieces_.pop_front();
        co_return piece;
    }

private:
    std::deque<api::Result<std::string>> pieces_;
};

struct Wire {
    std::deque<api::Result<net::HttpResponse>> answers;
    std::deque<api::Result<std::string>> stream;
    std::vector<net::HttpRequest> requests;
    std::vector<std::string> reconfigured;  // CAs
    std::chrono::seconds idle_timeout{0};
    std::function<void()> on_request = [] {};

    api::Result<net::HttpResponse> next() {
        if (answers.empty()) return net::HttpResponse{};
        auto answer = std::move(answers.front());
        answers.pop_front();
        return answer;
    }
};

class FakeClient final : public net::HttpClient {
public:
    explicit FakeClient(Wire& wire) : wire_(wire) {}
    net::Async<net::HttpResponse> send(net::HttpRequest request, std::size_t) override {
        wire_.requests.push_back(std::move(request));
        wire_.on_request();
        co_return wire_.next();
    }
    net::Async<Opened> open(net::HttpRequest request, std::chrono::seconds idle_timeout) override {
        wire_.requests.push_back(std::move(request));
        wire_.on_request();
        wire_.idle_timeout = idle_timeout;
        auto answer = wire_.next();
        if (!answer) co_return answer.error();
        Opened opened;
        opened.response = std::move(*answer);
        if (opened.response.status == 200)
            opened.stream = std::make_unique<FakeStream>(std::move(wire_.stream));
        co_return std::move(opened);
    }
    api::Result<> reconfigure(net::ClientConfig config) override {
        wire_.reconfigured.push_back(config.ca_pem);
        if (config.ca_pem.find("half") != std::string::npos) return api::invalid("CA", "only half of it");
        return {};
    }

private:
    Wire& wire_;
};

struct Fixture {
    boost::asio::io_context context;
    VirtualClock clock{context};
    Wire wire;
    std::map<std::string, std::string> files = {{"ca", "-----BEGIN 1"}, {"token", "t1"}};
    std::vector<std::string> reported;
    std::vector<kube::DatedAnswer> dated;
    std::unique_ptr<kube::ApiServer> server;

    Fixture() {
        kube::Credentials credentials({.host = "h",
                                       .port = "1",
                                       .base_path = "/base",
                                       .ca = {.file = "ca"},
                                       .token = {.file = "token"}},
                                      [this](const std::string& path) -> api::Result<std::string> {
                                          if (files.contains(path)) return files[path];
                                          return api::Error{.code = Errc::not_found,
                                                            .message = path + " does not exist"};
                                      });
        REQUIRE(credentials.refresh(clock.now()));
        server = kube::make_https_api_server(
            std::make_unique<FakeClient>(wire), std::move(credentials), clock,
            {.on_warning = [this](const std::string& text) { reported.push_back("warning " + text); },
             .on_problem = [this](const std::string& text) { reported.push_back("problem " + text); },
             .on_answer =
                 [this](std::string_view verb, const std::string& resource, int status) {
                     reported.push_back(std::string(verb) + (resource.empty() ? " " : " " + resource + " ") +
                                        std::to_string(status));
                 },
             .on_forbidden =
                 [this](const api::Error& error) { reported.push_back("forbidden " + error.message); },
             .on_dated_answer = [this](const kube::DatedAnswer& answer) { dated.push_back(answer); }});
    }

    template <class T>
    api::Result<T> await(kube::Async<T> operation) {
        std::optional<api::Result<T>> result;
        boost::asio::co_spawn(context, std::move(operation),
                              [&](std::exception_ptr failed, api::Result<T> got) {
                                  if (failed) std::rethrow_exception(failed);
                                  result = std::move(got);
                              });
        clock.run();
        REQUIRE(result);
        return std::move(*result);
    }
    api::Result<kube::Response> send(kube::Request request = {.target = "/x"}) {
        return await(server->send(std::move(request)));
    }
    std::string header(const std::string& name) {
        return std::string(net::header(wire.requests.back().headers, name));
    }
    Reports take() { return std::exchange(reported, {}); }
};
