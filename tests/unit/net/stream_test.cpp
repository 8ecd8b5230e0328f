#include "tls/stream.hpp"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "certificates.hpp"
#include "raw_tls.hpp"
#include "server_fixture.hpp"
#include "tls/tls_impl.hpp"

using net::IoStatus;
using net::Stream;
using tcp = boost::asio::ip::tcp;

namespace {

constexpr std::size_t update = 27;  // bytes of a KeyUpdate's record

// A stream of ours, and the other end of its connection.
class Pair {
public:
    explicit Pair(bool tls) : stream(connect()) {
        if (!tls) return;
        const auto certificate = test::Authority().issue();
        identity_ = net::Tls::make({.cert_pem = certificate.cert, .key_pem = certificate.key}).value();
        stream.start_tls(identity_->impl().new_connection());
        std::string received;
        for (bool over = false; !over;) {
            over = client.shake_hands(received);
            send(client.take());
            over = stream.handshake().status == IoStatus::done && over;
            received = receive();
        }
    }

    void send(const std::string& bytes) {
        for (std::size_t sent = 0; sent < bytes.size();)
            sent += peer_.send(boost::asio::buffer(bytes.data() + sent, bytes.size() - sent));
        arrive(40'000);
    }
    // Waits until the sent bytes have arrived, or enough of them.
    void arrive(std::size_t enough) {
        for (int on_its_way = 1; unread() < enough;) {
            ::ioctl(peer_.native_handle(), SIOCOUTQ, &on_its_way);
            if (on_its_way == 0) break;
            ::poll(nullptr, 0, 1);  // on a busy machine the kernel delivers later
        }
    }
    std::string receive() {
        std::string bytes(peer_.available(), '\0');
        if (!bytes.empty()) peer_.receive(boost::asio::buffer(bytes));
        return bytes;
    }
    std::size_t unread() { return stream.socket().available(); }

    /// Reads until a read has to wait or ends its turn. Returns the number of bytes.
    std::size_t read_on() {
        char data[4096];
        for (std::size_t sum = 0;;) {
            const auto io = stream.read(data, sizeof data);
            sum += io.bytes;
            status = io.status;
            if (io.status != IoStatus::done) return sum;
        }
    }
    /// As read_on(), for as many turns as there are bytes for, as a session does.
    std::size_t read_all() {
        std::size_t sum = read_on();
        while (status == IoStatus::again || (status == IoStatus::want_read && unread() > 0)) {
            stream.begin_turn();
            sum += read_on();
            receive();
            arrive(1);
        }
        return sum;
    }

private:
    Stream::Socket connect() {
        tcp::acceptor acceptor(context_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
        peer_.connect(acceptor.local_endpoint());
        return acceptor.accept();
    }

    boost::asio::io_context context_;
    tcp::socket peer_{context_};
    std::shared_ptr<net::Tls> identity_ = {};

public:
    test::RawTls client = {};
    Stream stream;
    IoStatus status = IoStatus::done;
};

}  // namespace

TEST_CASE("a turn reads a bounded number of bytes, also of small records", "[net]") {
    for (const bool tls : {false, true}) {
        DYNAMIC_SECTION((tls ? "TLS" : "plain")) {
            Pair pair(tls);
            const std::string sent =
                tls ? pair.client.single_bytes(std::string(5'000, 'x')) : std::string(115'000, 'x');
            pair.send(sent);
            pair.read_on();
            CHECK(pair.status == IoStatus::again);
            const auto taken = sent.size() - pair.unread();
            CHECK(taken <= Stream::bytes_per_turn + Stream::bytes_at_once);
            if (tls) CHECK(taken <= Stream::records_per_turn * 23 + Stream::bytes_at_once);
            pair.stream.begin_turn();
            CHECK(pair.read_on() > 0);
        }
    }
}

TEST_CASE("a reader that continues in its next turn loses nothing", "[net]") {
    for (const bool tls : {false, true}) {
        Pair pair(tls);
        const std::string data(200'000, 'x');
        pair.send(tls ? pair.client.records(data) : data);
        CHECK(pair.read_all() == data.size());
        CHECK(pair.status == IoStatus::want_read);
    }
}

TEST_CASE("a TLS connection of records without data ends soon", "[net]") {
    Pair pair(true);
    const std::string flood = pair.client.key_updates(2'000);
    pair.send(flood);
    pair.read_all();
    CHECK(pair.status == IoStatus::failed);
    CHECK(pair.stream.flooded());
    CHECK(pair.stream.failure() == "too many TLS records without data");
    CHECK(flood.size() - pair.unread() <= Stream::most_empty_records * update + Stream::bytes_at_once);
    // The error stays.
    CHECK(pair.stream.read(nullptr, 0).status == IoStatus::failed);
}

TEST_CASE("a little data between empty records does not keep the connection open", "[net]") {
    Pair pair(true);
    std::string flood;
    for (int i = 0; i < 100; ++i) {
        flood += pair.client.key_updates(2);
        flood += pair.client.single_bytes("x");
    }
    pair.send(flood);
    pair.read_all();
    CHECK(pair.stream.flooded());
}

TEST_CASE("a TLS connection of empty records ends soon", "[net]") {
    Pair pair(true);
    constexpr std::size_t empty = 22;  // bytes of its record
    const std::string flood = pair.client.empty_records(2'000);
    REQUIRE(flood.size() == 2'000 * empty);
    pair.send(flood);
    CHECK(pair.read_all() == 0);
    CHECK(pair.status == IoStatus::failed);
    // By our limit or OpenSSL's, which is lower for empty records in a row.
    CHECK(flood.size() - pair.unread() <= Stream::most_empty_records * empty + Stream::bytes_at_once);
}

TEST_CASE("a little data between empty records does not keep the connection", "[net]") {
    Pair pair(true);
    std::string flood;
    for (int i = 0; i < 100; ++i) flood += pair.client.empty_records(2, "x");
    pair.send(flood);
    CHECK(pair.read_all() < 100);
    CHECK(pair.stream.flooded());
}

TEST_CASE("ordinary clients do not exceed the limits of records", "[net]") {
    Pair pair(true);
    std::size_t sent = 0;
    for (int i = 0; i < 20; ++i) {
        // One byte at a time, new keys now and then, and padding.
        const std::string data(500, 'x');
        pair.send(pair.client.single_bytes(data));
        pair.send(pair.client.key_updates(1));
        pair.send(pair.client.single_bytes(data, 256));
        pair.send(pair.client.records(data));
        sent += 3 * data.size();
        sent -= pair.read_all();
        CHECK(pair.status == IoStatus::want_read);
    }
    CHECK(sent == 0);
}

TEST_CASE("a client that sends only records without data is disconnected and counted", "[net]") {
    test::TestServer server({.tls = true});
    server.run([&]() -> net::Task<> {
        const auto honest = co_await server.connect();
        co_await honest->ask(test::post("/echo", "x"));
        const auto flooding = co_await test::connect(server.port);
        test::RawTls tls;
        std::string received;
        for (bool over = false; !over;) {
            over = tls.shake_hands(received);
            co_await flooding->send(tls.take());
            if (!over) received = co_await flooding->receive();
        }
        co_await flooding->send(tls.key_updates(2'000));
        co_await flooding->rest();
        const auto response = co_await honest->ask(test::post("/echo", "x"));
        CHECK(test::status_of(response) == 200);
    });
    CHECK(server.stats().floods == 1);
    CHECK(server.stats().timeouts == 0);
}
