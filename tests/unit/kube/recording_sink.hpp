#pragma once
#include <string>
#include <vector>

#include "kube/watch/watch_machine.hpp"

/// Records its calls, one word each: "listing", "+ns/name@7", "-ns/name@8", "synced@9", ">10".
class RecordingSink final : public kube::Sink {
public:
    void begin_replace() override { reported.push_back("listing"); }
    void upsert(const api::ObjectKey& key, const std::string& version, api::Json, std::size_t) override {
        reported.push_back("+" + to_string(key) + "@" + version);
    }
    void remove(const api::ObjectKey& key, const std::string& version) override {
        reported.push_back("-" + to_string(key) + "@" + version);
    }
    void end_replace(const std::string& version) override { reported.push_back("synced@" + version); }
    void bookmark(const std::string& version) override { reported.push_back(">" + version); }

    /// Returns the record and clears it.
    std::vector<std::string> take() { return std::exchange(reported, {}); }

    std::vector<std::string> reported;
};

using Reports = std::vector<std::string>;

/// Returns lines of a watch.
inline std::string event(const std::string& type, const std::string& name, const std::string& version,
                         const std::string& more = "") {
    return R"({"type":")" + type + R"(","object":{"metadata":{"namespace":"ns","name":")" + name +
           R"(","uid":"uid-)" + name + R"(","resourceVersion":")" + version + "\"}" + more + "}}";
}
inline std::string bookmark(const std::string& version) {
    return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + version + "\"}}}";
}
inline std::string end_of_list(const std::string& version) {
    return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + version +
           R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})";
}
inline std::string error_event(int code, const std::string& reason, const std::string& message = "too old") {
    return R"({"type":"ERROR","object":{"kind":"Status","code":)" + std::to_string(code) + R"(,"reason":")" +
           reason + R"(","message":")" + message + "\"}}";
}
