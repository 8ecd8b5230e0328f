// Training code by the thousand: sends reports of progress over TLS and prints how long each took, as JSON.
// bench/progress starts it. It speaks plain HTTP/1.1 and knows nothing of the server, so that it can drive
// any server of the same API.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "api/time.hpp"

namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using TlsStream = asio::ssl::stream<tcp::socket>;

// One line of the file of senders: where its reports go, and its token.
struct Sender {
    std::string path;
    std::string token;
};

struct Settings {
    std::string host = "127.0.0.1";
    std::string port;
    std::string ca;       // file
    std::string senders;  // file
    double period = 5;    // seconds between two reports of a sender; 0: without a pause
    double seconds = 20;  // how long
    bool kept = false;    // one connection for all reports of a sender
    bool once = false;    // one report of each sender
    double warm_up = 0;   // seconds that are not counted
    int connections = 0;  // of senders at most; 0: one for each
    int at_once = 1;      // reports that a connection sends before it reads their answers
};

struct Figures {
    std::vector<float> milliseconds = {};
    std::map<int, std::uint64_t> statuses = {};  // 0: no answer
    std::uint64_t handshakes = 0;
};

class Load {
public:
    Load(asio::io_context& context, const Settings& settings)
        : context_(context), settings_(settings), tls_(asio::ssl::context::tls_client) {
        if (settings.ca.empty()) {
            tls_.set_verify_mode(asio::ssl::verify_none);
        } else {
            tls_.load_verify_file(settings.ca);
            tls_.set_verify_mode(asio::ssl::verify_peer);
        }
        endpoint_ = *tcp::resolver(context).resolve(settings.host, settings.port).begin();
        began_ = Clock::now();
        counted_from_ = began_ + std::chrono::duration_cast<Clock::duration>(Seconds(settings.warm_up));
        end_ = counted_from_ + std::chrono::duration_cast<Clock::duration>(Seconds(settings.seconds));
    }

    // `place`: in [0, 1), when in each period.
    asio::awaitable<void> run(std::vector<Sender> senders, double place) {
        std::unique_ptr<TlsStream> stream;
        const double pause = settings_.period * settings_.at_once / double(senders.size());
        const auto period = std::chrono::duration_cast<Clock::duration>(Seconds(pause));
        asio::steady_timer timer(context_);
        auto due = began_ + std::chrono::duration_cast<Clock::duration>(Seconds(pause * place));
        for (std::uint64_t count = 0; due < end_ && Clock::now() < end_;) {
            if (settings_.once && count == senders.size()) break;
            if (period.count() > 0) {
                timer.expires_at(due);
                co_await timer.async_wait(use_awaitable);
            }
            const auto before = std::max(due, began_);
            const auto start = period.count() > 0 ? before : Clock::now();
            std::string requests;
            for (int i = 0; i < settings_.at_once; ++i, ++count)
                requests += request_of(senders[count % senders.size()], count);
            Answers answers;
            // A server may close a kept connection at any time; then clients take another one.
            for (bool again = true; again;) {
                again = stream != nullptr;
                answers = {};
                try {
                    if (!stream) stream = co_await connect();
                    co_await exchange(*stream, requests, answers);
                    again = false;
                } catch (const std::exception&) {
                    stream.reset();
                    again = again && answers.statuses.empty();
                }
            }
            answers.statuses.resize(std::size_t(settings_.at_once));
            for (const int status : answers.statuses) note(start, status);
            if (!settings_.kept || answers.statuses.back() == 0 || answers.closes) stream.reset();
            due += period;
        }
    }

    const Figures& figures() const { return figures_; }

private:
    struct Answers {
        std::vector<int> statuses = {};
        bool closes = false;  // the connection
    };

    asio::awaitable<std::unique_ptr<TlsStream>> connect() {
        auto stream = std::make_unique<TlsStream>(context_, tls_);
        co_await stream->lowest_layer().async_connect(endpoint_, use_awaitable);
        stream->lowest_layer().set_option(tcp::no_delay(true));
        SSL_set_tlsext_host_name(stream->native_handle(), settings_.host.c_str());
        co_await stream->async_handshake(asio::ssl::stream_base::client, use_awaitable);
        ++figures_.handshakes;
        co_return stream;
    }

    std::string request_of(const Sender& sender, std::uint64_t count) const {
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        const std::string loss = std::to_string(2.5 / static_cast<double>(1 + count));
        const std::string body =
            R"({"trainerStatus": {"progressPercentage": )" + std::to_string(count % 100) +
            R"(, "estimatedRemainingSeconds": 3600, "metrics": [{"name": "loss", "value": ")" + loss +
            R"("}, {"name": "learning_rate", "value": "0.0003"}, {"name": "current_step", "value": ")" +
            std::to_string(100 * count) + R"("}], "lastUpdatedTime": ")" + api::format_time(now) + "\"}}";
        return "POST " + sender.path + " HTTP/1.1\r\nHost: " + settings_.host + "\r\nAuthorization: Bearer " +
               sender.token +
               "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body;
    }

    asio::awaitable<void> exchange(TlsStream& stream, const std::string& requests, Answers& answers) {
        co_await asio::async_write(stream, asio::buffer(requests), use_awaitable);
        std::string read;
        for (int i = 0; i < settings_.at_once; ++i) {
            const std::size_t head = co_await asio::async_read_until(stream, asio::dynamic_buffer(read),
                                                                     "\r\n\r\n", use_awaitable);
            const std::size_t end = head + length_of(read.substr(0, head));
            if (const std::size_t old = read.size(); old < end) {
                read.resize(end);
                co_await asio::async_read(stream, asio::buffer(read.data() + old, end - old), use_awaitable);
            }
            answers.closes = answers.closes || read.find("\r\nConnection: close") < head;
            answers.statuses.push_back(std::stoi(read.substr(9, 3)));
            read.erase(0, end);
        }
    }

    static std::size_t length_of(std::string head) {
        std::ranges::transform(head, head.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 32) : c; });
        const auto at = head.find("content-length:");
        return at == std::string::npos ? 0 : std::stoul(head.substr(at + 15));
    }

    void note(Clock::time_point start, int status) {
        const auto now = Clock::now();
        if (start < counted_from_) return;
        ++figures_.statuses[status];
        figures_.milliseconds.push_back(float(Seconds(now - start).count() * 1000));
    }

    asio::io_context& context_;
    const Settings& settings_;
    asio::ssl::context tls_;
    tcp::endpoint endpoint_;
    Clock::time_point began_, counted_from_, end_;
    Figures figures_ = {};
};

std::vector<Sender> read_senders(const std::string& file) {
    std::vector<Sender> senders;
    std::ifstream lines(file);
    for (Sender sender; lines >> sender.path >> sender.token;) senders.push_back(sender);
    return senders;
}

void print(Figures figures, double seconds) {
    auto& times = figures.milliseconds;
    std::ranges::sort(times);
    const auto percentile = [&](double part) {
        return times.empty()
                   ? 0.0
                   : double(times[std::min(times.size() - 1, std::size_t(part * double(times.size())))]);
    };
    std::ostringstream statuses;
    for (const auto& [status, count] : figures.statuses)
        statuses << (statuses.tellp() > 0 ? ", " : "") << '"' << status << "\": " << count;
    std::printf(
        "{\"reports\": %zu, \"per_second\": %.1f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, \"max\": "
        "%.3f, "
        "\"handshakes\": %llu, \"statuses\": {%s}}\n",
        times.size(), double(times.size()) / seconds, percentile(0.5), percentile(0.99), percentile(0.999),
        times.empty() ? 0.0 : double(times.back()), static_cast<unsigned long long>(figures.handshakes),
        statuses.str().c_str());
}

int run(const Settings& settings) {
    auto senders = read_senders(settings.senders);
    if (senders.empty()) {
        std::fprintf(stderr, "bench_progress_load: no senders\n");
        return 2;
    }
    asio::io_context context{1};
    Load load(context, settings);
    const std::size_t count = settings.connections > 0
                                  ? std::min<std::size_t>(settings.connections, senders.size())
                                  : senders.size();
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<Sender> own;
        for (std::size_t at = i; at < senders.size(); at += count) own.push_back(senders[at]);
        asio::co_spawn(context, load.run(std::move(own), double(i) / double(count)), asio::detached);
    }
    senders.clear();
    context.run();
    print(load.figures(), settings.seconds);
    return 0;
}

}  // namespace

// bench_progress_load HOST PORT CA-FILE SENDERS-FILE PERIOD SECONDS WARM-UP new|kept|once CONNECTIONS AT-ONCE
int main(int argc, char** argv) {
    if (argc < 11) {
        std::fprintf(stderr, "bench_progress_load: bench/progress starts it\n");
        return 2;
    }
    Settings settings = {.host = argv[1],
                         .port = argv[2],
                         .ca = argv[3],
                         .senders = argv[4],
                         .period = std::stod(argv[5]),
                         .seconds = std::stod(argv[6]),
                         .kept = std::string(argv[8]) != "new",
                         .once = std::string(argv[8]) == "once",
                         .warm_up = std::stod(argv[7]),
                         .connections = std::stoi(argv[9]),
                         .at_once = std::stoi(argv[10])};
    return run(settings);
}
