#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "kube/client/api_server.hpp"
#include "kube/watch/store.hpp"

namespace offline {

/// An in-memory API server for one client: it holds objects, takes writes and records them. It neither
/// validates nor defaults. A copy is an independent server. Thread rule: one thread.
class DocumentServer final : public kube::ApiServer {
public:
    /// Adds an object that existed before the first request.
    void put(const kube::Resource& resource, api::Json object);
    /// Returns nullptr if there is none.
    const api::Json* find(const kube::Resource& resource, const api::ObjectKey& key) const;
    /// Fills the partitions of a store as their first lists would.
    void show(const kube::Resource& resource, const std::vector<kube::Partition>& partitions) const;

    kube::Async<kube::Response> send(kube::Request request) override;
    /// Fails always: no other client changes objects.
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override;

    /// Returns the objects that were created, applied or replaced, in order, as sent but without
    /// preconditions. Events are recorded apart; changes of a status are not recorded.
    const std::vector<api::Json>& written() const { return written_; }
    const std::vector<api::Json>& events() const { return events_; }

private:
    api::Result<kube::Response> answer(const kube::Request& request);
    api::Result<kube::Response> list(const std::string& path) const;
    api::Result<kube::Response> create(const std::string& path, api::Json object);
    api::Result<kube::Response> patch(const std::string& path, const api::Json& change, bool is_apply);
    api::Result<kube::Response> store(const std::string& path, int status, api::Json object);

    std::map<std::string, api::Json> objects_ = {};
    std::vector<api::Json> written_ = {};
    std::vector<api::Json> events_ = {};
    int version_ = 1;
};

/// Runs the coroutine and all pending work of the context to the end. Rethrows the coroutine's exception.
void run_to_end(boost::asio::io_context& context, net::Task<> task);

}  // namespace offline
