#include "certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <stdexcept>

namespace test {
namespace {

template <class T, void (*release)(T*)>
struct Free {
    void operator()(T* pointer) const { release(pointer); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using CertPtr = std::unique_ptr<X509, Free<X509, X509_free>>;

void must(bool good) {
    if (!good) throw std::runtime_error("making a certificate failed");
}

template <class Write>
std::string pem(const Write& write) {
    BIO* bio = BIO_new(BIO_s_mem());
    must(write(bio) == 1);
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
}

std::string pem_of(X509* cert) {
    return pem([&](BIO* bio) { return PEM_write_bio_X509(bio, cert); });
}
std::string pem_of(EVP_PKEY* key) {
    return pem(
        [&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

void extend(X509* cert, X509* issuer, int what, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
    must(extension != nullptr);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
}

CertPtr blank(const std::string& common_name, EVP_PKEY* key, std::chrono::seconds valid_for) {
    CertPtr cert(X509_new());
    X509_set_version(cert.get(), 2);
    unsigned char serial[8];
    RAND_bytes(serial, sizeof(serial));
    serial[0] &= 0x7F;
    BIGNUM* number = BN_bin2bn(serial, sizeof(serial), nullptr);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert.get()));
    BN_free(number);
    X509_gmtime_adj(X509_getm_notBefore(cert.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(cert.get()), valid_for.count());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
    X509_set_pubkey(cert.get(), key);
    return cert;
}

}  // namespace

struct Authority::Impl {
    KeyPtr key{EVP_EC_gen("P-256")};
    CertPtr cert = {};
};

Authority::Authority(const std::string& name) : impl_(std::make_unique<Impl>()) {
    impl_->cert = blank(name, impl_->key.get(), std::chrono::hours(1));
    X509* cert = impl_->cert.get();
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
    extend(cert, cert, NID_key_usage, "critical,keyCertSign");
    must(X509_sign(cert, impl_->key.get(), EVP_sha256()) > 0);
    pem_ = pem_of(cert);
}

Authority::Authority(const std::string& name, const Authority& issuer) : impl_(std::make_unique<Impl>()) {
    impl_->cert = blank(name, impl_->key.get(), std::chrono::hours(1));
    X509* cert = impl_->cert.get();
    X509_set_issuer_name(cert, X509_get_subject_name(issuer.impl_->cert.get()));
    extend(cert, issuer.impl_->cert.get(), NID_basic_constraints, "critical,CA:TRUE");
    extend(cert, issuer.impl_->cert.get(), NID_key_usage, "critical,keyCertSign");
    must(X509_sign(cert, issuer.impl_->key.get(), EVP_sha256()) > 0);
    pem_ = pem_of(cert);
}

Authority::~Authority() = default;

Certificate Authority::issue(const Wanted& wanted) const {
    const KeyPtr key(EVP_EC_gen("P-256"));
    const auto cert = blank(wanted.common_name, key.get(), wanted.valid_for);
    X509_set_issuer_name(cert.get(), X509_get_subject_name(impl_->cert.get()));
    std::string names;
    for (const auto& name : wanted.names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
    for (const auto& address : wanted.addresses) names += (names.empty() ? "IP:" : ",IP:") + address;
    if (!names.empty()) extend(cert.get(), impl_->cert.get(), NID_subject_alt_name, names);
    extend(cert.get(), impl_->cert.get(), NID_ext_key_usage, "serverAuth,clientAuth");
    must(X509_sign(cert.get(), impl_->key.get(), EVP_sha256()) > 0);
    return {.cert = pem_of(cert.get()), .key = pem_of(key.get())};
}

}  // namespace test
