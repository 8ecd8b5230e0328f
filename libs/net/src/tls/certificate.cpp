#include "net/tls/certificate.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <stdexcept>

#include "tls/openssl.hpp"

namespace net {
namespace {

constexpr std::size_t serial_bytes = 16;

struct StackFree {
    void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
    void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};

void must(bool good) {
    if (!good) throw std::runtime_error("making a certificate failed: " + openssl_error());
}

template <class Write>
std::string pem_text(const Write& write) {
    const std::unique_ptr<BIO, OpenSslFree> bio(BIO_new(BIO_s_mem()));
    must(bio && write(bio.get()) == 1);
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509& certificate) {
    return pem_text([&](BIO* bio) { return PEM_write_bio_X509(bio, &certificate); });
}

std::string pem_of(EVP_PKEY& key) {
    return pem_text(
        [&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, &key, nullptr, nullptr, 0, nullptr, nullptr); });
}

KeyPtr new_key() {
    KeyPtr key(EVP_EC_gen("P-256"));
    must(key != nullptr);
    return key;
}

void extend(X509& certificate, X509& issuer, int what, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, StackFree> extension(
        X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
    must(extension && X509_add_ext(&certificate, extension.get(), -1) == 1);
}

void set_time(ASN1_TIME* target, api::Time time) {
    must(ASN1_TIME_set(target, time.time_since_epoch().count()) != nullptr);
}

CertificatePtr blank(const std::string& common_name, EVP_PKEY& key, const CertificateFields& fields) {
    CertificatePtr certificate(X509_new());
    must(certificate != nullptr);
    X509* c = certificate.get();
    X509_set_version(c, X509_VERSION_3);
    unsigned char serial[serial_bytes];
    must(RAND_bytes(serial, sizeof serial) == 1);
    // Positive, and without leading zeros: DER encodes integers in their shortest form only.
    serial[0] = static_cast<unsigned char>((serial[0] & 0x7F) | 0x40);
    must(ASN1_STRING_set(X509_get_serialNumber(c), serial, sizeof serial) == 1);
    set_time(X509_getm_notBefore(c), fields.not_before);
    set_time(X509_getm_notAfter(c), fields.not_after);
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                                    0) == 1);
    must(X509_set_pubkey(c, &key) == 1);
    return certificate;
}

api::Time time_of(const ASN1_TIME* time) {
    std::tm utc = {};
    ASN1_TIME_to_tm(time, &utc);
    return api::Time(std::chrono::seconds(timegm(&utc)));
}

std::vector<std::string> dns_names_of(const X509& certificate) {
    std::vector<std::string> found;
    const std::unique_ptr<GENERAL_NAMES, StackFree> names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type != GEN_DNS) continue;
        const auto* text = name->d.dNSName;
        found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                           static_cast<std::size_t>(ASN1_STRING_length(text)));
    }
    return found;
}

}  // namespace

api::Result<CertificateFields> certificate_fields(std::string_view pem) {
    const CleanErrors clean;
    const auto chain = read_certificates(pem);
    if (!chain) return chain.error();
    const X509& leaf = *chain->front();
    return CertificateFields{.not_before = time_of(X509_get0_notBefore(&leaf)),
                             .not_after = time_of(X509_get0_notAfter(&leaf)),
                             .dns_names = dns_names_of(leaf)};
}

api::Result<std::vector<std::string>> split_certificates(std::string_view pem) {
    const CleanErrors clean;
    const auto all = read_certificates(pem);
    if (!all) return all.error();
    std::vector<std::string> texts;
    for (const auto& certificate : *all) texts.push_back(pem_of(*certificate));
    return texts;
}

bool is_issued_by(std::string_view certificate_pem, std::string_view authority_pem) {
    const CleanErrors clean;
    const auto leaf = read_certificates(certificate_pem);
    const auto authority = read_certificates(authority_pem);
    if (!leaf || !authority) return false;
    EVP_PKEY* key = X509_get0_pubkey(authority->front().get());
    return key && X509_verify(leaf->front().get(), key) == 1;
}

bool is_key_of(std::string_view key_pem, std::string_view certificate_pem) {
    const CleanErrors clean;
    const auto key = read_key(key_pem);
    const auto chain = read_certificates(certificate_pem);
    return key && chain && X509_check_private_key(chain->front().get(), key->get()) == 1;
}

Authority make_authority(const std::string& common_name, const CertificateFields& fields) {
    const CleanErrors clean;
    const KeyPtr key = new_key();
    const auto ca = blank(common_name, *key, fields);
    must(X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get())) == 1);
    extend(*ca, *ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(*ca, *ca, NID_key_usage, "critical,keyCertSign");
    extend(*ca, *ca, NID_subject_key_identifier, "hash");
    must(X509_sign(ca.get(), key.get(), EVP_sha256()) > 0);
    return {.cert_pem = pem_of(*ca), .key_pem = pem_of(*key)};
}

TlsIdentity issue_certificate(const Authority& authority, const std::string& common_name,
                              const CertificateFields& fields) {
    const auto authorities = read_certificates(authority.cert_pem);
    const auto authority_key = read_key(authority.key_pem);
    must(authorities && authority_key);
    X509& ca = *authorities->front();
    const KeyPtr key = new_key();
    const auto leaf = blank(common_name, *key, fields);
    must(X509_set_issuer_name(leaf.get(), X509_get_subject_name(&ca)) == 1);
    std::string names;
    for (const std::string& name : fields.dns_names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
    extend(*leaf, ca, NID_basic_constraints, "critical,CA:FALSE");
    extend(*leaf, ca, NID_key_usage, "critical,digitalSignature");
    extend(*leaf, ca, NID_ext_key_usage, "serverAuth");
    extend(*leaf, ca, NID_authority_key_identifier, "keyid:always");
    extend(*leaf, ca, NID_subject_alt_name, names);
    must(X509_sign(leaf.get(), authority_key->get(), EVP_sha256()) > 0);
    return {.cert_pem = pem_of(*leaf), .key_pem = pem_of(*key)};
}

SelfSigned make_self_signed(const CertificateFields& fields) {
    // The name contains the start time, so that two CAs in one bundle differ.
    const Authority ca = make_authority(
        "signalbox-webhook-ca-" + std::to_string(fields.not_before.time_since_epoch().count()), fields);
    return {.ca_pem = ca.cert_pem, .identity = issue_certificate(ca, "signalbox-webhook", fields)};
}

}  // namespace net
