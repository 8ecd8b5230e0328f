// Measures what a full TLS handshake costs the server, without sockets.
#include <openssl/bio.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "counted.hpp"
#include "net/tls/certificate.hpp"
#include "net/tls/tls.hpp"
#include "tls/openssl.hpp"
#include "tls/tls_impl.hpp"

namespace {

// The certificate that the webhook makes for itself.
std::shared_ptr<net::Tls> make_server() {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const net::SelfSigned made = net::make_self_signed(
        {.not_before = now, .not_after = now + std::chrono::hours(24), .dns_names = {"webhook.test.svc"}});
    return net::Tls::make(made.identity).value();
}

class Desk {
public:
    // `served` gets each part of the server.
    void shake_hands(const std::function<void(const std::function<void()>&)>& served) {
        net::SslPtr server;
        served([&] { server = tls_->impl().new_connection(); });
        const net::SslPtr client(SSL_new(client_context_.get()));
        SSL_set_connect_state(client.get());
        BIO* of_server = nullptr;
        BIO* of_client = nullptr;
        if (BIO_new_bio_pair(&of_server, 0, &of_client, 0) != 1) std::abort();
        SSL_set_bio(server.get(), of_server, of_server);
        SSL_set_bio(client.get(), of_client, of_client);
        SSL_do_handshake(client.get());
        served([&] { SSL_do_handshake(server.get()); });
        SSL_do_handshake(client.get());
        served([&] { SSL_do_handshake(server.get()); });
        if (SSL_is_init_finished(server.get()) != 1 || SSL_is_init_finished(client.get()) != 1) std::abort();
        served([&] { server.reset(); });
    }

private:
    std::shared_ptr<net::Tls> tls_ = make_server();
    net::SslContextPtr client_context_ = net::make_context(TLS_client_method());
};

double cpu_microseconds() {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) * 1e6 + double(time.tv_nsec) / 1e3;
}

// The median of many short runs: other programs on the machine disturb few of them.
void measure() {
    constexpr int runs = 51;
    constexpr int handshakes = 50;
    Desk desk;
    std::vector<double> times;
    for (int run = 0; run < runs; ++run) {
        double took = 0;
        for (int i = 0; i < handshakes; ++i)
            desk.shake_hands([&took](const std::function<void()>& act) {
                const double began = cpu_microseconds();
                act();
                took += cpu_microseconds() - began;
            });
        times.push_back(took / handshakes);
    }
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    std::printf("full handshake, the server's part  %6.1f us\n", times[runs / 2]);
}

}  // namespace

int main(int count, char** arguments) {
    Desk desk;
    const CountedCase handshake = {"full handshake", [&desk] { desk.shake_hands(counted); }, true};
    if (const auto status = count_instructions(count, arguments, {handshake})) return *status;
    measure();
}
