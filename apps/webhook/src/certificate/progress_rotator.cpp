#include "certificate/progress_rotator.hpp"

#include <algorithm>
#include <utility>

#include "certificate/serving_certificate.hpp"

namespace webhook {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds soon = 100ms;  // after a write: read the present state
constexpr milliseconds after_conflict = 300ms;
constexpr milliseconds after_error = 2s;
constexpr milliseconds longest_interval = 30s;
constexpr milliseconds shortest_interval = 1s;

}  // namespace

ProgressCertificateRotator::ProgressCertificateRotator(kube::ApiServer& server, kube::Clock& clock,
                                                       Options options, net::Tls& tls, net::Log& log)
    : clock_(clock),
      tls_(tls),
      log_(log),
      secret_(server, options.secret, options.instance),
      wishes_{.dns_names = names_of_service(options.service), .lifetime = options.lifetime},
      interval_(std::clamp<milliseconds>(options.lifetime / 20, shortest_interval, longest_interval)) {}

net::Task<> ProgressCertificateRotator::run() {
    for (;;) {
        const auto outcome = co_await look();
        note(outcome);
        co_await clock_.sleep_until(clock_.now() + (outcome ? *outcome : std::min(interval_, after_error)));
    }
}

net::Async<ProgressCertificateRotator::Wait> ProgressCertificateRotator::look() {
    const auto now = std::chrono::floor<std::chrono::seconds>(clock_.wall());
    auto secret = co_await secret_.read();
    if (!secret) co_return secret.error();
    const ProgressCertificate stored = read_progress_certificate(*secret, wishes_, now);
    if (const auto made = renewed(stored, wishes_, now)) {
        store(*made, *secret);
        const auto written = co_await secret_.write(std::move(*secret));
        if (!written && written.error().code == api::Errc::conflict) co_return after_conflict;
        if (!written) co_return written.error();
        log_.info("certificate for progress made and stored",
                  {{"secret", secret_.key()}, {"not_after", api::format_time(made->not_after)}});
        co_return soon;
    }
    if (shown_ != stored.identity.cert_pem) {
        if (auto replaced = tls_.replace(stored.identity); !replaced) co_return replaced.error();
        shown_ = stored.identity.cert_pem;
        in_use_ = true;
        log_.info("certificate for progress in use", {{"not_after", api::format_time(stored.not_after)}});
    }
    co_return interval_;
}

void ProgressCertificateRotator::note(const api::Result<Wait>& outcome) {
    const std::string error = outcome ? "" : api::describe(outcome.error());
    if (error == std::exchange(error_, error)) return;
    if (outcome)
        log_.info("the certificate for progress is taken care of again");
    else
        log_.warn("cannot take care of the certificate for progress; trying again",
                  {{"error", outcome.error()}});
}

}  // namespace webhook
