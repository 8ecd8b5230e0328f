// The PEM text of a Secret: a certificate with its chain, CAs, a key, in any order. It is read as each of
// these.
#include <openssl/err.h>

#include "cost.hpp"
#include "input.hpp"
#include "net/tls/certificate.hpp"
#include "tls/openssl.hpp"

namespace {

// What OpenSSL leaves in the queue, the next connection of the thread would report as its own error.
void check_queue() { MUST_HOLD(ERR_peek_error() == 0); }

void check_error(const api::Error& error) {
    // A text of OpenSSL or ours: nothing of the Secret.
    MUST_HOLD(!error.message.empty() && error.message.size() < 200);
    check_queue();
}

void check_certificates(std::string_view pem) {
    const auto all = net::split_certificates(pem);
    const auto fields = net::certificate_fields(pem);
    MUST_HOLD(all.has_value() == fields.has_value());
    if (!all) return check_error(all.error());
    check_queue();
    MUST_HOLD(!all->empty());
    std::string joined;
    for (const std::string& each : *all) joined += each;
    const auto again = net::split_certificates(joined);
    MUST_HOLD(again && *again == *all);
    const auto of_first = net::certificate_fields(all->front());
    MUST_HOLD(of_first && of_first->not_before == fields->not_before &&
              of_first->not_after == fields->not_after && of_first->dns_names == fields->dns_names);
    // Its names are short and few, as the text is.
    std::size_t bytes = 0;
    for (const std::string& name : fields->dns_names) bytes += name.size();
    MUST_HOLD(bytes <= pem.size());
    check_queue();
}

void run(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = text_of(data, size);
    check_certificates(text);
    const auto key = net::read_key(text);
    if (!key) check_error(key.error());
    check_queue();
    // A Secret with these as its certificate, CA and key.
    const bool is_pair = net::is_key_of(text, text);
    MUST_HOLD(!is_pair || key.has_value());
    check_queue();
    (void)net::is_issued_by(text, text);
    check_queue();
    const auto chain = net::read_certificates(text);
    if (!chain || !key) return;
    const auto context = net::make_context(TLS_server_method());
    const auto used = net::use_identity(*context, *chain, **key);
    MUST_HOLD(is_pair || !used);
    if (!used) check_error(used.error());
    net::trust(*context, *chain);
    check_queue();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 40000}, size, [&] { run(data, size); });
}
