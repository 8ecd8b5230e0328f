#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "kube/api_server.hpp"
#include "kube/store.hpp"

namespace offline {

/// An API server of which nobody else is a client: it holds some objects, takes writes and remembers them. It
/// judges nothing and defaults nothing. Copies are servers of their own. Thread rule: one thread.
class DocumentServer final : public kube::ApiServer {
public:
    /// As if it had been stored before.
    void put(const kube::Resource& resource, api::Json object);
    /// nullptr if there is none.
    const api::Json* find(const kube::Resource& resource, const api::ObjectKey& key) const;
    /// Fills the sections of a store as the first list of each would.
    void show(const kube::Resource& resource, const std::vector<kube::Section>& sections) const;

    kube::Async<kube::Response> send(kube::Request request) override;
    /// Fails: nothing ever changes by itself.
    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request request) override;

    /// What was created, applied or replaced, in order, as it was sent but for preconditions. Events are kept
    /// apart, and changes of a status are none of them.
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

/// Runs everything that is under way on the context, and the coroutine, to their ends. Rethrows.
void run_to_end(boost::asio::io_context& context, net::Task<> task);

}  // namespace offline
