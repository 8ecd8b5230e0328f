#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api_model.hpp"
#include "controller/cache/cache.hpp"
#include "kube/client/api_server.hpp"

/// The modelled API server, answering at once: what the reconciler sends goes through send(), and what users
/// and other controllers do through the functions below, which throw what the server refuses. Watches are
/// what show() does.
class ModelServer final : public kube::ApiServer {
public:
    kube::Async<kube::Response> send(kube::Request request) override;
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override;

    /// Creates it, or replaces what is there whatever its version; then writes the status, if the object has
    /// one.
    void put(const kube::Resource& resource, api::Json object);
    /// put() of what is there after `change`.
    void edit(const kube::Resource& resource, const api::ObjectKey& key,
              const std::function<void(api::Json&)>& change);
    /// Asks for its deletion; finalizers hold it.
    void ask_to_delete(const kube::Resource& resource, const api::ObjectKey& key);
    /// The same without finalizers: it is gone.
    void erase(const kube::Resource& resource, const api::ObjectKey& key);
    /// Server-side apply under the reconciler's name, as other versions of it do.
    void apply(const kube::Resource& resource, api::Json object);
    /// As the garbage collector: JobSets and TrainJobs go that are deleted in the foreground.
    void collect_garbage();
    /// Stores it as it is, with what no request can write.
    void restore(const kube::Resource& resource, api::Json object);

    /// nullptr if there is none; valid until the next change.
    const api::Json* find(const kube::Resource& resource, const api::ObjectKey& key) const;

    /// Brings the caches up to date with what is stored; of partitions of one namespace with that one only.
    void show(controller::Cache& cache, std::string_view only = {});

    /// "POST /api/v1/namespaces/ns/configmaps", without queries; reads and dry runs are left out.
    std::vector<std::string> take_writes() { return std::exchange(writes_, {}); }

    /// Asked before every write, with a target without query; an error is the answer, and nothing is stored.
    std::function<std::optional<api::Error>(const kube::Request&)> refuse = {};
    /// The same for reads.
    std::function<std::optional<api::Error>(const kube::Request&)> refuse_read = {};

    /// Asked before every request, as it was sent; an error is the answer.
    std::function<std::optional<api::Error>(const kube::Request&)> watch_requests = {};

    /// May change every request before it is handled, as a server with another schema drops fields.
    std::function<void(kube::Request&)> change_request = {};

    /// As those of model::ApiModel: what the cluster makes of new objects, and has against them.
    decltype(model::ApiModel::mutate_create) mutate_create = {};
    decltype(model::ApiModel::admit_create) admit_create = {};

    api::Time now = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15) + std::chrono::hours(10);

    /// The `Date` of its answers.
    std::function<std::optional<api::Time>()> date = [this] { return std::optional(now); };

private:
    void handle(const kube::Request& request);
    void as_user(const std::string& method, const std::string& target, const api::Json& body);
    void show(const kube::Resource& resource, const std::vector<kube::Partition>& partitions,
              std::string_view only);

    model::ApiModel model_{[this] { return now; }};
    std::vector<std::string> writes_ = {};
};
