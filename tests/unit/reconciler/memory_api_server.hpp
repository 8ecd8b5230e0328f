#pragma once
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caches.hpp"
#include "kube/api_server.hpp"

/// An API server that is a map: enough of one to drive a pass through its writes. It knows objects by path,
/// counts resource versions and generations, checks uid and resourceVersion, and can be told to answer a
/// request with an error. What an API server really does is tested on a real one (tests/cluster).
class MemoryApiServer final : public kube::ApiServer {
public:
    kube::Async<kube::Response> send(kube::Request request) override;
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override;

    /// Stores it as a user would; fills in uid, resourceVersion and creationTimestamp where they are missing.
    void put(const kube::Resource& resource, api::Json object);
    /// nullptr if there is none.
    api::Json* find(const kube::Resource& resource, const api::ObjectKey& key);
    void erase(const kube::Resource& resource, const api::ObjectKey& key);

    /// Brings the caches up to date with what is stored; of sections of one namespace with that one only.
    void show(reconciler::Caches& caches, std::string_view only = {});

    /// "POST /api/v1/namespaces/ns/configmaps", without queries; reads are left out.
    std::vector<std::string> take_writes() { return std::exchange(writes_, {}); }

    /// Asked before every write; an error is the answer, and nothing is stored.
    std::function<std::optional<api::Error>(const kube::Request&)> refuse = {};
    /// The same for reads.
    std::function<std::optional<api::Error>(const kube::Request&)> refuse_read = {};

    api::Time now = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15) + std::chrono::hours(10);

private:
    api::Result<kube::Response> answer(const kube::Request& request);
    api::Result<kube::Response> create(const std::string& path, api::Json object);
    api::Result<kube::Response> change(const std::string& path, const api::Json& patch);
    api::Result<kube::Response> replace(const std::string& path, api::Json wanted);
    api::Result<kube::Response> remove(const std::string& path, const api::Json& options);
    void show(const kube::Resource& resource, const std::vector<kube::Section>& sections,
              std::string_view only);

    std::map<std::string, api::Json> objects_ = {};
    std::vector<std::string> writes_ = {};
    int version_ = 100;
};
