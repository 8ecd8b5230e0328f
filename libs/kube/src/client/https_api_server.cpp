#include "kube/client/https_api_server.hpp"

#include <set>

#include "kube/client/line_splitter.hpp"
#include "kube/client/status.hpp"

namespace kube {
namespace {

// Some texts contain names of objects: without a limit a busy cluster would fill the memory.
constexpr std::size_t max_remembered_warnings = 1000;
constexpr std::chrono::seconds between_looks_on_errors{1};

net::ClientConfig connection_of(const Credentials& credentials, const HttpsApiServerOptions& options) {
    net::ClientConfig config = credentials.connection();
    config.max_connections = options.max_connections;
    config.request_timeout = options.request_timeout;
    return config;
}

class HttpsWatch final : public Watch {
public:
    HttpsWatch(std::unique_ptr<net::ByteStream> stream, Lines kind)
        : stream_(std::move(stream)), lines_(kind) {}

    Async<std::string> next() override {
        while (true) {
            if (auto line = lines_.next()) co_return std::move(*line);
            if (lines_.is_too_long())
                co_return api::Error{.code = api::Errc::too_large,
                                     .message = "a line of the watch is longer than " +
                                                std::to_string(LineSplitter::longest_object / (1024 * 1024)) +
                                                " MiB"};
            const auto bytes = co_await stream_->read();
            if (!bytes) co_return bytes.error();
            if (bytes->empty()) co_return std::string();
            lines_.feed(*bytes);
        }
    }

private:
    std::unique_ptr<net::ByteStream> stream_;
    LineSplitter lines_;
};

class HttpsApiServer final : public ApiServer {
public:
    HttpsApiServer(std::unique_ptr<net::HttpClient> client, Credentials credentials, Clock& clock,
                   HttpsApiServerOptions options)
        : client_(std::move(client)),
          credentials_(std::move(credentials)),
          clock_(clock),
          options_(std::move(options)) {
        if (options_.user_agent.empty()) options_.user_agent = "signalbox/" SIGNALBOX_VERSION;
    }

    Async<Response> send(Request request) override {
        for (bool asked_again = false;; asked_again = true) {
            refresh();
            if (!client_) co_return closed();
            if (credentials_.missing()) co_return *credentials_.missing();
            const Identity used = identity();
            net::HttpRequest message = to_http(request);
            const SteadyTime sent = clock_.now();
            auto answer = co_await client_->send(std::move(message), request.max_answer);
            unanswered_ = !answer;
            const auto date = note(request.method, request, answer ? &*answer : nullptr, sent);
            if (!answer) co_return answer.error();
            if (answer->status == 401 && !asked_again) {
                if (has_new_identity(used)) continue;
                if (credentials_.missing()) co_return *credentials_.missing();
            }
            if (answer->status < 200 || answer->status > 299) co_return refused(*answer);
            Response response;
            response.status = answer->status;
            response.date = date;
            response.body = std::move(answer->body);
            co_return std::move(response);
        }
    }

    Async<std::unique_ptr<Watch>> watch(Request request) override {
        for (bool asked_again = false;; asked_again = true) {
            refresh();
            if (!client_) co_return closed();
            if (credentials_.missing()) co_return *credentials_.missing();
            const Identity used = identity();
            net::HttpRequest message = to_http(request);
            const SteadyTime sent = clock_.now();
            auto opened = co_await client_->open(std::move(message), request.idle_timeout);
            unanswered_ = !opened;
            note("WATCH", request, opened ? &opened->response : nullptr, sent);
            if (!opened) co_return opened.error();
            if (opened->response.status == 401 && !asked_again) {
                if (has_new_identity(used)) continue;
                if (credentials_.missing()) co_return *credentials_.missing();
            }
            if (!opened->stream) co_return refused(opened->response);
            std::unique_ptr<Watch> watch =
                std::make_unique<HttpsWatch>(std::move(opened->stream), request.lines);
            co_return std::move(watch);
        }
    }

    // This object lives on: pending coroutines continue in it after the client has failed them.
    void close() override { client_.reset(); }

private:
    // The credentials as the API server sees them: two requests with the same ones get the same 401.
    struct Identity {
        std::string authorization;
        std::uint64_t reconnects;

        bool operator==(const Identity&) const = default;
    };

    Identity identity() const { return {credentials_.authorization(), reconnects_}; }

    static api::Error closed() {
        return {.code = api::Errc::unavailable, .message = "the client was closed"};
    }

    net::HttpRequest to_http(const Request& request) const {
        net::HttpRequest message;
        message.headers.reserve(4);
        message.method = request.method;
        message.target = credentials_.base_path() + request.target;
        message.body = request.body;
        message.headers.emplace_back("Accept", request.accept.empty() ? "application/json" : request.accept);
        message.headers.emplace_back("User-Agent", options_.user_agent);
        if (!request.content_type.empty()) message.headers.emplace_back("Content-Type", request.content_type);
        if (!credentials_.authorization().empty())
            message.headers.emplace_back("Authorization", credentials_.authorization());
        const net::Headers& as = credentials_.impersonation();
        message.headers.insert(message.headers.end(), as.begin(), as.end());
        return message;
    }

    // Rereads the credentials. While requests get no response, the certificates may be the cause, and a lease
    // cannot wait for `max_age`: then it rereads every second. The same holds while certificates are
    // unusable: perhaps only one of the two files has been replaced so far.
    void refresh(bool rejected = false) {
        const SteadyTime now = clock_.now();
        const bool look_soon =
            (unanswered_ || !unusable_.empty()) && now - looked_at_ >= between_looks_on_errors;
        if (rejected || look_soon) looked_at_ = now;
        const auto outcome = rejected ? credentials_.renew(now) : credentials_.refresh(now, look_soon);
        std::string problem = outcome ? "" : outcome.error().message;
        if (outcome && *outcome == Credentials::Outcome::connection_changed && client_) {
            const auto used = client_->reconfigure(connection_of(credentials_, options_));
            unusable_ = used ? "" : api::describe(used.error());
            if (used) ++reconnects_;
        }
        if (problem.empty()) problem = unusable_;
        if (problem != problem_) {
            problem_ = problem;
            if (!problem.empty() && options_.on_problem) options_.on_problem(problem);
        }
    }

    // Called after a 401. Another request may have renewed them after this one was sent as `used`.
    bool has_new_identity(const Identity& used) {
        if (identity() == used) refresh(true);
        return identity() != used;
    }

    api::Error refused(const net::HttpResponse& answer) const {
        api::Error error = error_from(answer);
        if (options_.on_forbidden && is_missing_permission(error)) options_.on_forbidden(error);
        return error;
    }

    // Returns the date of the answer, if it has one.
    std::optional<api::Time> note(std::string_view verb, const Request& request,
                                  const net::HttpResponse* answer, SteadyTime sent) {
        if (options_.on_answer)
            options_.on_answer(verb, resource_of(request.target), answer ? answer->status : 0);
        if (!answer) return std::nullopt;
        const auto date = parse_http_date(net::header(answer->headers, "Date"));
        if (date && options_.on_dated_answer)
            options_.on_dated_answer({.date = *date, .sent = sent, .came = clock_.now()});
        if (!options_.on_warning) return date;
        for (const std::string& text : warnings_of(answer->headers)) {
            if (warned_.size() >= max_remembered_warnings) warned_.clear();
            if (warned_.insert(text).second) options_.on_warning(text);
        }
        return date;
    }

    std::unique_ptr<net::HttpClient> client_;
    Credentials credentials_;
    Clock& clock_;
    HttpsApiServerOptions options_;
    std::uint64_t reconnects_ = 0;
    std::string problem_;
    std::string unusable_;     // why the client still uses the old certificates
    bool unanswered_ = false;  // the last request had no response
    SteadyTime looked_at_ = {};
    std::set<std::string> warned_;
};

}  // namespace

std::unique_ptr<ApiServer> make_https_api_server(std::unique_ptr<net::HttpClient> client,
                                                 Credentials credentials, Clock& clock,
                                                 HttpsApiServerOptions options) {
    return std::make_unique<HttpsApiServer>(std::move(client), std::move(credentials), clock,
                                            std::move(options));
}

api::Result<std::unique_ptr<ApiServer>> make_https_api_server(boost::asio::any_io_executor executor,
                                                              Clock& clock, ClusterConfig config,
                                                              HttpsApiServerOptions options) {
    const std::string source = config.source;
    const auto blame = [&](api::Error error) {
        error.message = source + ": " + error.message;
        return error;
    };
    Credentials credentials(std::move(config), {}, options.plugins);
    if (const auto read = credentials.refresh(clock.now()); !read) return blame(read.error());
    auto client = net::make_http_client(std::move(executor), connection_of(credentials, options));
    if (!client) return blame(client.error());
    return make_https_api_server(std::move(*client), std::move(credentials), clock, std::move(options));
}

}  // namespace kube
