#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/client/api_server.hpp"
#include "lifecycle/warnings.hpp"

namespace controller {

/// Lists the Warning events of namespaces, which may say why JobSets do not start. All jobs of a namespace
/// share one list, which is kept for 10 s. At most four lists are read at a time, and at most 4 MiB are kept.
/// Nobody waits for the list of another caller. Thread rule: one thread.
class NamespaceWarnings {
public:
    using List = std::vector<lifecycle::Warning>;

    /// `server` must outlive this object.
    explicit NamespaceWarnings(kube::ApiServer& server) : server_(server) {}

    /// Returns the Warnings about JobSets and Jobs of the namespace, of the first 200 about anything but
    /// Pods. nullptr: ask again in some seconds, since this list is being read for another caller, or too
    /// many others are. A list that cannot be read is empty: the log names a missing permission.
    kube::Task<std::shared_ptr<const List>> read(std::string ns, api::Time now);

    /// Drops the lists that are older than 10 s.
    void forget_old(api::Time now);

private:
    struct Entry {
        std::weak_ptr<List> being_read = {};  // ends with the coroutine that reads it, also if that is cut
        std::shared_ptr<const List> list = {};
        std::size_t bytes = 0;
        api::Time asked = {};
    };

    kube::ApiServer& server_;
    std::map<std::string, Entry> entries_ = {};  // by namespace
};

}  // namespace controller
