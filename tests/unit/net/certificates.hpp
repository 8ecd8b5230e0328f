#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace test {

/// PEM texts.
struct Certificate {
    std::string cert = {};
    std::string key = {};
};

struct Wanted {
    std::string common_name = "test";
    std::vector<std::string> names = {"localhost"};  ///< DNS names
    std::vector<std::string> addresses = {"127.0.0.1"};
    std::chrono::seconds valid_for{3600};  ///< negative: has ended already
};

/// A certificate authority for tests; keys are P-256, so a certificate takes less than a millisecond.
class Authority {
public:
    explicit Authority(const std::string& name = "test CA");
    Authority(const std::string& name, const Authority& issuer);
    ~Authority();

    const std::string& cert() const { return pem_; }
    Certificate issue(const Wanted& wanted = {}) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::string pem_;
};

}  // namespace test
