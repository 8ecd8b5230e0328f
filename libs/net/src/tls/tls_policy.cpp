#include "net/tls/tls_policy.hpp"

#include <algorithm>

#include "api/text.hpp"
#include "net/process/options.hpp"
#include "tls/suites.hpp"

namespace net {
namespace {

struct Suite {
    std::string_view name;  // IANA's
    std::string_view openssl;
    TlsVersion version;
};

constexpr Suite all_suites[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", TlsVersion::v1_3},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", TlsVersion::v1_3},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", TlsVersion::v1_3},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", TlsVersion::v1_2},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", TlsVersion::v1_2},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", TlsVersion::v1_2},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", TlsVersion::v1_2},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", TlsVersion::v1_2},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", TlsVersion::v1_2},
};
// Go's former names, which Kubernetes' components still take.
constexpr std::string_view former_names[] = {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
                                             "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"};

const Suite* find(std::string_view name) {
    const auto* const suite = std::ranges::find(all_suites, name, &Suite::name);
    return suite == std::end(all_suites) ? nullptr : suite;
}

bool has(const CipherSuites& suites, TlsVersion version) {
    return std::ranges::any_of(suites.names,
                               [&](const std::string& name) { return find(name)->version == version; });
}

std::string separated(std::string text, std::string_view next, const char* separator) {
    return text.append(text.empty() ? "" : separator).append(next);
}

}  // namespace

api::Result<> read_option(std::string_view text, TlsVersion& target) {
    if (text == "1.2" || text == "VersionTLS12")
        target = TlsVersion::v1_2;
    else if (text == "1.3" || text == "VersionTLS13")
        target = TlsVersion::v1_3;
    else
        return api::invalid("", "must be 1.2 or 1.3, or VersionTLS12 or VersionTLS13");
    return {};
}

std::string show_option(TlsVersion value) { return value == TlsVersion::v1_3 ? "1.3" : "1.2"; }

api::Result<> read_option(std::string_view text, CipherSuites& target) {
    CipherSuites read;
    while (!text.empty()) {
        const std::string_view given = api::take_item(text);
        std::string name(given);
        if (std::ranges::find(former_names, given) != std::end(former_names)) name += "_SHA256";
        if (!find(name)) {
            std::string known;
            for (const Suite& suite : all_suites) known = separated(std::move(known), suite.name, ", ");
            return api::invalid("", '"' + name + "\" is none of these, separated by commas: " + known);
        }
        if (std::ranges::find(read.names, name) == read.names.end()) read.names.push_back(std::move(name));
    }
    target = std::move(read);
    return {};
}

std::string show_option(const CipherSuites& value) {
    std::string text;
    for (const std::string& name : value.names) text = separated(std::move(text), name, ",");
    return text;
}

void add_tls_options(Options& options, TlsPolicy& policy) {
    options.add("tls-min-version", "VERSION", policy.min_version,
                "the oldest version of TLS that servers take: 1.2 or 1.3");
    options.add_list(
        "tls-cipher-suites", "LIST", policy.suites,
        "cipher suites of servers by their IANA names, separated by commas, the preferred ones "
        "first; all of TLS 1.3 if the list has none of these; the error for an unknown name lists "
        "all. Without it, all");
}

api::Result<> check(const TlsPolicy& policy) {
    if (policy.min_version == TlsVersion::v1_3 && !policy.suites.names.empty() &&
        !has(policy.suites, TlsVersion::v1_3))
        return api::invalid("",
                            "--tls-cipher-suites has suites of TLS 1.2 only, which --tls-min-version=1.3 "
                            "rules out: omit it, or give suites of TLS 1.3");
    return {};
}

TlsVersion lowest_version(const TlsPolicy& policy) {
    const bool all = policy.suites.names.empty() || has(policy.suites, TlsVersion::v1_2);
    return all ? policy.min_version : TlsVersion::v1_3;
}

std::string openssl_names(const TlsPolicy& policy, TlsVersion version) {
    std::string names;
    for (const std::string& name : policy.suites.names)
        if (const Suite& suite = *find(name); suite.version == version)
            names = separated(std::move(names), suite.openssl, ":");
    return names;
}

}  // namespace net
